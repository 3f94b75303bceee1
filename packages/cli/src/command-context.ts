// What commands may use of the process: injected, so that tests can replace it.

export type Output = {
  write(text: string): unknown;
  /** A terminal whose lines can be rewritten. */
  readonly isTTY?: boolean;
};

export type CommandContext = {
  /** Results. */
  readonly stdout: Output;
  /** Everything that is said to a person beside the result. */
  readonly stderr: Output;
  /** A secret, from what is piped in, or typed without being shown. Undefined: nothing is piped in, and nobody is there to ask. */
  readonly readSecret: (prompt: string) => Promise<string | undefined>;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly workingDirectory: string;
};
