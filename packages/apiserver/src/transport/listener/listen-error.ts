// Describes why a listener could not be opened, for the operator.

export class ListenError extends Error {
  override readonly name = "ListenError";
  readonly code: string;
  readonly address: string;
  readonly port: number;
  constructor(code: string, address: string, port: number, message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
    this.address = address;
    this.port = port;
  }
}

/** Another process listens there already. */
export class AddressInUseError extends ListenError {
  constructor(address: string, port: number, cause: unknown) {
    const message = `port ${port} of ${address} is in use by another process: stop that one, or choose another port`;
    super("EADDRINUSE", address, port, message, cause);
  }
}

export function describeListenError(error: unknown, address: string, port: number): Error {
  if (!(error instanceof Error)) return new ListenError("", address, port, "listening failed", error);
  // Errors of system calls carry their name here.
  const { code = "" } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return new AddressInUseError(address, port, error);
  const why: { readonly [code: string]: string } = {
    EACCES: `port ${port} may only be opened by a privileged user: choose one above 1023`,
    EADDRNOTAVAIL: `this machine has no address ${address}`,
    ENOTFOUND: `${address} is not an address of this machine`,
  };
  return new ListenError(
    code,
    address,
    port,
    why[code] ?? `cannot listen on ${address}:${port}: ${error.message}`,
    error,
  );
}
