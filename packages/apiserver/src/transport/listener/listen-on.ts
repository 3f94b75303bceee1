// Has a server listen, alone or together with those of other threads.

import type { AddressInfo, Server } from "node:net";
import type { HttpTransportOptions } from "./http-transport-options.ts";
import { describeListenError } from "./listen-error.ts";
import { assertPortIsFree, shareOptions } from "./listen-together.ts";

export type ListenAddress = { readonly address: string; readonly port: number };

/** Connections that wait to be accepted. The kernel makes clients that find no place among them wait for a second, or three. */
const BACKLOG = 4_096;

/** Resolves with the actual address; rejects with AddressInUseError or another ListenError. */
export async function listenOn(
  server: Server,
  { bindAddress, port, portShare, logger }: Pick<HttpTransportOptions, "bindAddress" | "port" | "portShare" | "logger">,
): Promise<ListenAddress> {
  if (portShare === "first") await assertPortIsFree(bindAddress, port);
  return await new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(describeListenError(error, bindAddress, port));
    server.once("error", onError);
    server.listen({ host: bindAddress, port, backlog: BACKLOG, ...shareOptions(portShare) }, () => {
      server.off("error", onError);
      server.on("error", (error) => logger.error({ error }, "listener failed"));
      // A server that listens on a host has an address.
      const bound = server.address() as AddressInfo;
      resolve({ address: bound.address, port: bound.port });
    });
  });
}
