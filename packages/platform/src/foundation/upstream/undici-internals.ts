// Parts of undici outside its public interface: its version is pinned, and hostile-answers.test.ts fails where they change.

import type { Duplex } from "node:stream";
import symbols from "undici/lib/core/symbols.js";

type Parser = { onHeadersComplete(statusCode: number, upgrade: boolean, shouldKeepAlive: boolean): number };

const CONTINUE = 100;
const PROCESSING = 102;

/**
 * Makes undici pass `100 Continue` to the handler as an interim response, on a connection that it has just taken. By itself it treats one that no
 * request has asked for as an error, which no other client does.
 */
export function passOverContinue(socket: Duplex): void {
  // Undici keeps the parser of a connection at its socket.
  const parser = (socket as Duplex & { readonly [symbols.kParser]?: Parser | null })[symbols.kParser];
  if (parser === undefined || parser === null) return;
  const complete = parser.onHeadersComplete;
  parser.onHeadersComplete = (statusCode, upgrade, shouldKeepAlive) =>
    complete.call(parser, statusCode === CONTINUE ? PROCESSING : statusCode, upgrade, shouldKeepAlive);
}
