// Properties of the connection of a request.

import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { withoutMapping } from "../addresses/ip-networks.ts";
import { isTrustedProxy, type TrustedProxies } from "../addresses/trusted-proxies.ts";
import type { Reader } from "../backpressure/unread-answers.ts";
import { peerCertificateOf } from "../tls/certificate-chain.ts";
import type { ConnectionBacklog } from "../watch-backlog.ts";

export type Connection = {
  /** Without port; IPv4 in its own notation also on a dual-stack socket. */
  readonly remoteAddress: string;
  /** Where the other end is one of them: its requests name their clients. */
  readonly trustedProxies: TrustedProxies | undefined;
  /** As sent in the handshake, not verified. Read once, so that caches may be keyed by it. */
  readonly peerCertificate: X509Certificate | undefined;
  /** A request on it had a valid credential, of this user. */
  readonly know: (user: string) => void;
  /** That user, or the source address where there is none. */
  readonly reader: () => Reader;
  readonly backlog: ConnectionBacklog;
};

export function describeConnection(
  socket: TLSSocket,
  { remoteAddress, trustedProxies, know, reader, backlog }: Omit<Connection, "peerCertificate">,
): Connection {
  const address = withoutMapping(remoteAddress);
  return {
    remoteAddress: address,
    peerCertificate: peerCertificateOf(socket),
    trustedProxies:
      trustedProxies !== undefined && writesHeader(trustedProxies, address, socket.remoteAddress ?? "")
        ? trustedProxies
        : undefined,
    know,
    reader,
    backlog,
  };
}

/**
 * A load balancer that speaks the PROXY protocol passes on what its clients send. Where it names no client, as of a Unix socket, a header is not its word
 * either.
 */
const writesHeader = (proxies: TrustedProxies, address: string, peer: string): boolean =>
  isTrustedProxy(proxies, address) && !(proxies.sendProxyProtocol && address === withoutMapping(peer));
