// What a command may touch of the process it runs in, handed in so that tests can hand in something else.

export type Output = { write(text: string): unknown };

export type CommandContext = {
  /** Results. */
  readonly stdout: Output;
  /** Everything that is said to a person beside the result. */
  readonly stderr: Output;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly workingDirectory: string;
};
