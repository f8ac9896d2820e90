/** Nobody reading the output any more, as after `vectord | head -1`, is no reason to stop. */
export function ignoreClosedOutput(): void {
  onOutputError((error) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Nor is, for a service, that its output cannot be written: the log may lie on the disk that is full. */
export function ignoreLostOutput(): void {
  onOutputError(() => {});
}

function onOutputError(listener: (error: NodeJS.ErrnoException) => void): void {
  for (const output of [process.stdout, process.stderr]) {
    output.removeAllListeners('error').on('error', listener);
  }
}
