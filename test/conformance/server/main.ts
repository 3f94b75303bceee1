// Starts the conformance server from the command line. SIGUSR2 compacts history, SIGINT and SIGTERM stop it.

import { startConformanceServer } from "./conformance-server.ts";
import { readOptions, USAGE } from "./options.ts";

try {
  const server = await startConformanceServer(readOptions(process.argv.slice(2)));
  process.stdout.write(`serving on ${server.url}, CA in ${server.caFile}\n`);
  process.on("SIGUSR2", () => void server.compact());
  const stop = (): void => void server[Symbol.asyncDispose]().then(() => process.exit(0));
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n${USAGE}\n`);
  process.exitCode = 1;
}
