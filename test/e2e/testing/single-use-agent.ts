// Connections of tests: one for each request, as a program without an agent has them.

import { Agent } from "node:https";
import { createSecureContext } from "node:tls";

/**
 * Opens a connection for each request and closes it afterwards, as `agent: false` does. But it reads the authority once and resumes its TLS session:
 * most of the work of a short request is that of the handshake, on both sides.
 */
export const singleUseAgent = (ca: Buffer | string): Agent =>
  new Agent({ keepAlive: false, secureContext: createSecureContext({ ca }) });
