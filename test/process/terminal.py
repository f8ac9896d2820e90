# Runs a command on a terminal of 16 lines of 60 columns, and passes input and output on.
#
# Usage: python3 terminal.py COMMAND [ARGUMENT...]
import fcntl
import os
import pty
import select
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 16, 60, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])

inputs = [terminal, 0]
while terminal in inputs:
    for source in select.select(inputs, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:
            # That is how Linux tells the end of a terminal.
            data = b""
        if not data:
            inputs.remove(source)
        else:
            os.write(1 if source == terminal else terminal, data)

sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
