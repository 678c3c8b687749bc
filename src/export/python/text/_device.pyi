from types import TracebackType
from typing import List, NamedTuple, Optional, Tuple, Type

class DeviceInfo(NamedTuple):
    id: str
    name: str
    kind: str
    units: int
    memory_bytes: int
    compute_capability: Tuple[int, int]

class Device:
    info: DeviceInfo
    def __init__(self, name: Optional[str] = ...) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Device: ...
    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None: ...

def devices() -> List[DeviceInfo]: ...
