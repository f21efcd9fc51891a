// The filter of the produce matrix (kafka-behaviour.md). Without it the whole table is shown.
document$.subscribe(() => {
  const fields = Object.fromEntries(
    [...document.querySelectorAll("[data-matrix]")].map((field) => [field.dataset.matrix, field]));
  if (!fields.text) return;
  const rows = [...document.querySelectorAll(".matrix tbody tr")].map((row) => ({ row, text: row.textContent.toLowerCase() }));
  const apply = () => {
    const words = fields.text.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const { row, text } of rows) {
      const fits = words.every((word) => text.includes(word))
        && (!fields.group.value || row.dataset.group === fields.group.value)
        && (!fields.format.value || row.dataset.format === fields.format.value)
        && (!fields.differ.checked || row.dataset.differ === "1");
      row.hidden = !fits;
      shown += fits;
    }
    fields.count.value = `${shown} of ${rows.length} cases`;
  };
  for (const field of Object.values(fields)) field.addEventListener("input", apply);
});
