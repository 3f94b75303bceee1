// Parts of undici outside its public interface: its version is pinned, and hostile-answers.test.ts fails where they change.

import type { Duplex } from "node:stream";
import symbols from "undici/lib/core/symbols.js";

type Parser = { onHeadersComplete(statusCode: number, upgrade: boolean, shouldKeepAlive: boolean): number };

const CONTINUE = 100;
const PROCESSING = 102;

/**
 * Has undici pass a `100 Continue` on to the handler as the interim response that it is, for a connection that it has just taken. It would take one for
 * which no request has asked for an error, as no other client does.
 */
export function passOverContinue(socket: Duplex): void {
  // Undici keeps the parser of a connection at its socket.
  const parser = (socket as Duplex & { readonly [symbols.kParser]?: Parser | null })[symbols.kParser];
  if (parser === undefined || parser === null) return;
  const complete = parser.onHeadersComplete;
  parser.onHeadersComplete = (statusCode, upgrade, shouldKeepAlive) =>
    complete.call(parser, statusCode === CONTINUE ? PROCESSING : statusCode, upgrade, shouldKeepAlive);
}
