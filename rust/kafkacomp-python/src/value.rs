//! Results for Python: frozen classes of this module, and instances of the package's classes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use crate::gil::{call, call_with};

/// A class of the package.
pub struct PackageClass {
    module: &'static str,
    name: &'static str,
    class: PyOnceLock<Py<PyType>>,
}

impl PackageClass {
    /// The class `name` of `module`, which is imported on first use.
    pub const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, class: PyOnceLock::new() }
    }

    /// An instance with these positional arguments.
    ///
    /// # Errors
    /// Only those of the import.
    pub fn make<'py, A>(&self, py: Python<'py>, arguments: A) -> PyResult<Bound<'py, PyAny>>
    where
        A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
        PyErr: From<A::Error>,
    {
        call(self.class.import(py, self.module, self.name)?, arguments)
    }

    /// An instance with these keyword arguments.
    ///
    /// # Errors
    /// Only those of the import.
    pub fn make_with<'py>(&self, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let py = fields.py();
        call_with(self.class.import(py, self.module, self.name)?, (), Some(fields))
    }
}

/// A list of the items. It grows item by item, because `PyList::new` panics if memory runs out.
///
/// # Errors
/// The first one among the items, or `MemoryError`.
pub fn list<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        list.append(item?)?;
    }
    Ok(list)
}

/// The `repr` of an object as that of a dataclass, `Name(field=value, ...)`, with the fields in `__match_args__`.
///
/// # Errors
/// Those of a field's `repr`.
pub fn repr(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let class = object.get_type();
    let mut fields = Vec::new();
    for name in class.getattr("__match_args__")?.try_iter()? {
        let name: String = name?.extract()?;
        fields.push(format!("{name}={}", object.getattr(name.as_str())?.repr()?));
    }
    Ok(format!("{}({})", class.name()?, fields.join(", ")))
}

/// `__match_args__` and `__repr__` of a frozen class with these attributes.
macro_rules! value_methods {
    ($name:ident { $($field:ident),* $(,)? }) => {
        #[pyo3::pymethods]
        impl $name {
            #[classattr]
            fn __match_args__(py: pyo3::Python<'_>) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyTuple>> {
                pyo3::types::PyTuple::new(py, [$(stringify!($field)),*])
            }

            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                crate::value::repr(slf.as_any())
            }
        }
    };
}
pub(crate) use value_methods;
