// The part of a process that a command line needs, for programs that only read its tree of commands.

const silent = { write: () => {} };

export const silentContext = {
  stdout: silent,
  stderr: silent,
  readSecret: async () => undefined,
  readAnswer: async () => undefined,
  environment: {},
  workingDirectory: "/",
  program: { command: "postern", args: [] },
};
