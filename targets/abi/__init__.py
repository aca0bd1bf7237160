"""The kernel ABI: checks and unpacks Python arguments, calls the kernel, converts results.

`load_kernel` chooses between the native path (`trampoline`, `native_entry`, in C) and the portable
one (`portable_call`, by cffi). Both return the same status.
"""
