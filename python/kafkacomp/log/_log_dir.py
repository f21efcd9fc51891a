"""The model of a log: a log directory has partitions, which :mod:`kafkacomp.log._model` has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from kafkacomp._arguments import check_progress, checked_max_output_size, checked_threads, path_text
from kafkacomp._kafkacomp import DEFAULT_MAX_OUTPUT_SIZE
from kafkacomp._storage.discovery import warn_of_copies
from kafkacomp._storage.files import files_in
from kafkacomp._storage.listing import Listing, settle
from kafkacomp._storage.losses import loss_files_of
from kafkacomp._storage.selection import ByName
from kafkacomp._text import count_text
from kafkacomp.log._describe import describe
from kafkacomp.log._directory import verify as verify_partitions
from kafkacomp.log._directory import verify_files
from kafkacomp.log._model import LogPartition
from kafkacomp.log._verbs import Verbs
from kafkacomp.tiered.source import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkacomp._storage.listing import OtherFile
    from kafkacomp._types import StrPath
    from kafkacomp.log._directory import LogDirReport
    from kafkacomp.log._info import LogDirInfo
    from kafkacomp.tiered.source import Tiered

#: The most partitions that an error lists.
_SHOWN = 10


def _ignore(_step: int) -> None:
    """Do nothing with the progress."""


class LogDir(Verbs, Mapping[tuple[str, int], "LogPartition"]):
    """A log directory of a broker: a mapping of ``(topic, partition)`` to :class:`LogPartition`.

    The directory is listed once, at the first use; create another ``LogDir`` to see files that were added since. Only
    the arguments are pickled.

    >>> import kafkacomp as kc
    >>> logs = kc.LogDir(example)
    >>> logs.topics
    ('orders',)
    >>> logs["orders", 3].end_offset
    5
    >>> for partition in logs.values():
    ...     print(partition)
    LogPartition('orders', 3, offsets 0 to 5, 1 segment, 181 bytes)

    Args:
        path: A folder that contains folders ``<topic>-<partition>``, one of these folders, or a segment; or the URL of
            one of them on a file system of pyarrow or fsspec. It may have wildcards, such as ``logs/orders-*``. All
            arguments are those of :func:`kafkacomp.scan`.
        store: The file system of the path: one of ``pyarrow.fs`` or fsspec, or a store of obstore.
        storage_options: Options with which fsspec opens the file system of a URL.
        tiered: For tiered storage: what its files do not show, and the keys of those that are encrypted.
    """

    def __init__(
        self,
        path: StrPath,
        *,
        store: object = None,
        storage_options: Mapping[str, object] | None = None,
        tiered: Tiered | None = None,
    ) -> None:
        self._path = path_text("path", path)
        self._options = SourceOptions(store=store, storage_options=storage_options, tiered=tiered)

    @property
    def path(self) -> str:
        """The path or URL as given."""
        return self._path

    @cached_property
    def _listing(self) -> Listing:
        """The directory as listed: no segment of it was opened, and what cannot be listed is no error yet."""
        found = self._options.listing(self._path)
        found.warn()
        warn_of_copies(found.partitions)
        return found

    @cached_property
    def _parts(self) -> list[LogPartition]:
        """The partitions that could be listed; of two disks, one may be among them twice."""
        for each in self._listing.partitions:
            if each.topic is None or each.partition is None:
                segment = each.segments[0].name
                raise ValueError(
                    f"{segment}: the folder's name is not <topic>-<partition>: read it with kafkacomp.scan"
                )
        return [LogPartition(each) for each in self._listing.partitions]

    @cached_property
    def _by_key(self) -> dict[tuple[str, int], list[LogPartition]]:
        found: dict[tuple[str, int], list[LogPartition]] = {}
        for each in self._parts:
            found.setdefault((each.topic, each.partition), []).append(each)
        return found

    @property
    def _partitions(self) -> dict[tuple[str, int], list[LogPartition]]:
        """The partitions by key, if the whole directory could be listed."""
        settle(self._listing.failures)
        return self._by_key

    @property
    def partitions(self) -> tuple[LogPartition, ...]:
        """All partitions, by topic and number.

        If the path contains several log directories, a partition that is in two of them is here twice, with different
        paths.

        Raises:
            FileNotFoundError: the path does not exist, or contains no segments.
            OSError: a folder cannot be listed.
        """
        return tuple(each for found in self._partitions.values() for each in found)

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics."""
        return tuple(dict.fromkeys(topic for topic, _ in self._partitions))

    @property
    def other_files(self) -> tuple[OtherFile, ...]:
        """The files and folders that are listed and not read, with their sizes and the reasons.

        Folders of deleted, moved and stray partitions are among them, and everything that is not part of a log.

        >>> import kafkacomp as kc
        >>> kc.LogDir(example).other_files
        ()
        """
        return tuple(self._listing.others)

    def __getitem__(self, key: tuple[str, int]) -> LogPartition:
        """Return the partition ``(topic, number)``; other partitions are not opened.

        Raises:
            KeyError: it does not exist; the message lists those that do.
            ValueError: it is in two folders; :attr:`partitions` has both.
        """
        try:
            found = self._by_key.get(key, [])
        except TypeError:  # not hashable
            found = []
        if len(found) == 1:
            return found[0]
        if found:
            places = ", ".join(each.path for each in found)
            raise ValueError(
                f"{found[0].topic}-{found[0].partition}: in {len(found)} folders: {places}: open one of them, "
                f"or choose from LogDir.partitions"
            )
        known = ", ".join(f"{topic}-{number}" for topic, number in list(self._partitions)[:_SHOWN])
        more = ", ..." if len(self._partitions) > _SHOWN else ""
        given: object = key
        how = "" if isinstance(given, tuple) else "give topic and partition, as in logs['orders', 3]; "
        raise KeyError(f"no partition {key!r} in {self._path}: {how}expected one of {known}{more}")

    def __contains__(self, key: object) -> bool:
        try:
            return key in self._partitions
        except TypeError:  # not hashable
            return False

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def select(
        self, topics: Iterable[str] | None = None, partitions: Iterable[int] | None = None
    ) -> list[LogPartition]:
        """Return the partitions of these topics and with these numbers.

        Args:
            topics: Names or globs such as ``orders-*``. Default: all topics.
            partitions: Numbers of partitions. Default: all of them.

        Raises:
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.

        Example:
            >>> import kafkacomp as kc
            >>> kc.LogDir(example).select(topics=["ord*"])
            [LogPartition('orders', 3, offsets 0 to 5, 1 segment, 181 bytes)]
        """
        choice = ByName.of(topics, partitions)
        settle(self._listing.failures, None if choice is None else choice.allows)
        parts = [each for found in self._by_key.values() for each in found]
        if choice is None:
            return parts
        listed = {id(each._partition): each for each in parts}  # noqa: SLF001 - ours
        chosen = choice.select([each._partition for each in parts])  # noqa: SLF001 - ours
        return [listed[id(each)] for each in chosen]

    def verify(
        self,
        *,
        threads: int | None = None,
        known_losses: StrPath | Sequence[StrPath] = (),
        max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
        progress: Callable[[int], object] | None = None,
    ) -> LogDirReport:
        """Check every batch and record of all partitions, and all other files of the directory.

        This is what ``kafkacomp verify`` prints. With ``remote_log_metadata`` or ``local_log_dir``, only the segments
        and offsets are checked that belong to the log.

        >>> import kafkacomp as kc
        >>> report = kc.LogDir(example).verify()
        >>> report.is_intact, report.missing, [each.topic for each in report.partitions]
        (True, [], ['orders'])

        Args:
            threads: The most segments that are checked at the same time; default: one per core that the process may
                use.
            known_losses: Local paths of loss files, besides those in the folders of the partitions, as in
                :func:`kafkacomp.log.verify_partition`.
            max_output_size: The most bytes that the records of one batch may decompress to.
            progress: Called regularly with the bytes done since the last call, from any thread.

        Returns:
            The findings, the missing offsets, counts, and the files that are no part of a log. Corruption is reported,
            not raised.

        Raises:
            FileNotFoundError: the path does not exist, or contains no segments.
            OSError: a folder or file cannot be read.
        """
        checked_max_output_size(max_output_size)
        check_progress(progress)
        losses = loss_files_of(known_losses)
        options: dict[str, Any] = {
            "threads": checked_threads(threads),
            "known_losses": losses,
            "max_output_size": max_output_size,
            "progress": progress if progress is not None else _ignore,
        }
        if self._options.shows_valid_segments:
            return verify_partitions([each._opened for each in self.partitions], **options)  # noqa: SLF001 - ours
        return verify_files(files_in(self._path, self._listing, self._options.opened, self._options.chunked), **options)

    def info(
        self,
        *,
        topics: Iterable[str] | None = None,
        partitions: Iterable[int] | None = None,
        deep: bool = False,
        threads: int | None = None,
        max_output_size: int = DEFAULT_MAX_OUTPUT_SIZE,
    ) -> LogDirInfo:
        """Summarize the content of the log directory from the headers of its batches.

        If the batches are of magic 2 and have 16 KiB, less than 1% of a segment is read. The number of records in
        compressed messages of magic 0 and 1 is estimated from their offsets, and a compressed message of Kafka 0.7
        counts as one. The first time is that of the first record of a batch: others in the batch may be earlier.
        ``deep`` counts the records and determines their times; see ``is_exact`` in
        :class:`kafkacomp.log.PartitionInfo`.

        >>> import kafkacomp as kc
        >>> found = kc.LogDir(example).info()
        >>> found.records, found.is_exact, found.first_timestamp, found.last_timestamp
        (5, True, 1700000000000, 1700000000004)
        >>> [(each.topic, each.segments_count, each.size) for each in found.topics]
        [('orders', 1, 181)]

        Args:
            topics: Names or globs such as ``orders-*``. Default: all topics.
            partitions: Numbers of partitions. Default: all of them.
            deep: Whether every batch is verified and the readable records are counted, instead of reading headers only.
                Times are then those of the records.
            threads: The most partitions that are summarized at the same time; default: one per core that the process
                may use.
            max_output_size: With ``deep``: the most bytes that the records of one batch may decompress to.

        Raises:
            FileNotFoundError: the path does not exist, or contains no segments.
            ValueError: no topic matches a name or glob, or no topic has a partition with one of the numbers.
        """
        chosen = [each._opened for each in self.select(topics, partitions)]  # noqa: SLF001 - ours
        checked_max_output_size(max_output_size)
        return describe(chosen, checked_threads(threads), deep=deep, max_output_size=max_output_size)

    def _place(self) -> str:
        return self._options.opened(self._path)[1]

    def _listed(self) -> Listing:
        self._parts  # noqa: B018 - refuses folders without a name
        return Listing(self._listing.partitions, failures=self._listing.failures)

    def __repr__(self) -> str:
        if "_by_key" not in self.__dict__:
            return f"LogDir({self._path!r})"
        return f"LogDir({self._path!r}, {count_text(len(self.topics), 'topic')}, {count_text(len(self), 'partition')})"

    def __reduce__(self) -> tuple[partial[LogDir], tuple[str]]:
        return partial(LogDir, **vars(self._options)), (self._path,)
