"""What can be wrong with samples, files and results."""


class QdpError(RuntimeError):
    """The base of this package's errors.

    ``category`` names the rule in one word, ``sample`` and ``position`` the value, counted from 0, where there is one.
    """

    def __init__(self, message, category, sample=None, position=None):
        super().__init__(message)
        self.category = category
        self.sample = sample
        self.position = position


class InvalidInputError(QdpError, ValueError):
    """Samples, or a number of qubits, that cannot be encoded. A rejected batch yields nothing."""


class UnsupportedTypeError(InvalidInputError, TypeError):
    """Data of a type that is not taken."""


class MemoryAllocationError(QdpError, MemoryError):
    """The device has not enough memory. Nothing was allocated."""

    def __init__(self, message):
        super().__init__(message, "memory")


class HandOverError(QdpError, BufferError):
    """States that were handed over or released already, or that another library cannot take."""

    def __init__(self, message, category="consumed"):
        super().__init__(message, category)


class FileFormatError(InvalidInputError):
    """A file whose content is not what its name says."""

    def __init__(self, path, message):
        super().__init__(f"{path}: {message}", "format")


class MissingPackageError(QdpError, ImportError):
    """A file format, or a function, needs a package that is not installed."""

    def __init__(self, message):
        super().__init__(message, "source")
