from typing import Any

ffi: Any
lib: Any

# Where native/interpreter/ is built.
def value_of(stream: bytes) -> Any: ...
def new_reader(address: int) -> Any: ...
