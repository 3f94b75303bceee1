// Properties of the connection of a request.

import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { ConnectionBacklog } from "./watch-backlog.ts";

export type Connection = {
  /** Without port; IPv4 in its own notation also on a dual-stack socket. */
  readonly remoteAddress: string;
  /** As sent in the handshake, not verified. Read once, so that caches may be keyed by it. */
  readonly peerCertificate: X509Certificate | undefined;
  /** A request on it had a valid credential, of this user. */
  readonly know: (user: string) => void;
  readonly backlog: ConnectionBacklog;
};

const MAPPED_IPV4 = "::ffff:";

export function describeConnection(
  socket: TLSSocket,
  { know, backlog }: Pick<Connection, "know" | "backlog">,
): Connection {
  const address = socket.remoteAddress ?? "";
  return {
    remoteAddress: address.startsWith(MAPPED_IPV4) ? address.slice(MAPPED_IPV4.length) : address,
    peerCertificate: peerCertificateOf(socket),
    know,
    backlog,
  };
}

/** Not `getPeerCertificate(true)`, which leaks memory in some releases of Node (CVE-2025-59464). */
function peerCertificateOf(socket: TLSSocket): X509Certificate | undefined {
  try {
    return socket.getPeerX509Certificate();
  } catch {
    // An unreadable certificate identifies no user.
    return undefined;
  }
}
