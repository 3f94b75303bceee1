// Listeners of several threads on one port, among which the kernel shares out connections.

import { createServer } from "node:net";
import { describeListenError } from "./listen-error.ts";

/** The first of the listeners makes sure that no other process has the port; the others join it. */
export type PortShare = "first" | "further";

/** Options of `listen`. Undefined: nothing is shared. */
export const shareOptions = (share: PortShare | undefined): { readonly reusePort?: true } =>
  share === undefined ? {} : { reusePort: true };

/**
 * Another server of the same user that shares its port as well would take a part of the connections. Rejects with AddressInUseError or another
 * ListenError; port 0 is always free.
 */
export function assertPortIsFree(address: string, port: number): Promise<void> {
  if (port === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => reject(describeListenError(error, address, port)));
    server.listen({ host: address, port }, () => server.close(() => resolve()));
  });
}
