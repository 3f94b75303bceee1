// Opens connections to one target: its TLS, and only allowed addresses.

import { connect as connectPlain, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { connectThrough } from "@postern/client/transport/http-proxy";
import type { AddressRules } from "./address-rules.ts";
import { createGuardedLookup, refuseLiteral } from "./guarded-lookup.ts";
import type { ResolveHost } from "./resolve-host.ts";
import { trustFault } from "./trust-fault.ts";
import { ConnectTimeoutError } from "./upstream-failure.ts";
import type { UpstreamTarget } from "./upstream-target.ts";
import { upstreamTls } from "./upstream-tls.ts";

/** Calls back once, with a connection that has ended its handshake. Throws AddressRefusedError or ApiError. */
export type Dial = (callback: (...result: [error: null, socket: Duplex] | [error: Error, socket: null]) => void) => {
  destroy(): void;
};

/** Emitted by a connection that takes no other request than the one under way. */
export const LAST_REQUEST = "lastRequest";

export type DialerDeps = {
  readonly scheduler: Scheduler;
  readonly addresses: AddressRules;
  readonly resolve: ResolveHost | undefined;
  /** Name resolution, the proxy, TCP and TLS together. */
  readonly connectTimeoutMs: number;
};

const TCP_KEEP_ALIVE_MS = 30_000;
const DEFAULT_PORTS: { readonly [protocol: string]: number } = { "http:": 80, "https:": 443 };

/** Throws TypeError for a base URL that is none, CostlyTlsError, and what OpenSSL says about certificates and keys that do not fit together. */
export function createDialer(target: UpstreamTarget, deps: DialerDeps): Dial {
  const { scheduler, addresses, resolve, connectTimeoutMs } = deps;
  const { protocol, hostname, port } = new URL(target.server);
  const defaultPort = DEFAULT_PORTS[protocol];
  if (defaultPort === undefined) throw new TypeError("the target must be an http or https URL");
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const place = {
    host,
    port: port === "" ? defaultPort : Number(port),
    lookup: createGuardedLookup(addresses, resolve),
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    noDelay: true,
  };
  const tls = protocol === "https:" ? upstreamTls(target) : undefined;
  // An IP address is not sent as a name, and the certificate is checked against the host.
  const name = { servername: isIP(host) === 0 ? host : "", ...tls };
  /** With an authority, whether to trust the server is decided here, before the connection is handed over. */
  const authorities = tls?.rejectUnauthorized === true ? target.certificateAuthorityPem : undefined;
  const decidesTrust = authorities === undefined ? {} : { rejectUnauthorized: false };
  /** Spares the next handshake its signatures. */
  let session: Buffer | undefined;
  /** A resumed session does not show the certificate, which is looked at where OpenSSL does not trust it. */
  let isResumable = true;

  /** `tunnel`: a connection to the target through a proxy. Absent: the target is dialled. */
  function open(tunnel?: Socket): Socket {
    if (tls === undefined) return connectPlain(place);
    const way = tunnel === undefined ? {} : { socket: tunnel };
    const resumed = session === undefined ? {} : { session };
    const socket = connectTls({
      ...place,
      ...name,
      ...decidesTrust,
      ...way,
      ...resumed,
      ALPNProtocols: ["http/1.1"],
    });
    socket.on("session", (ticket) => {
      if (isResumable) session = ticket;
    });
    return authorities === undefined ? socket : socket.once("secureConnect", () => endUntrusted(socket, authorities));
  }

  function endUntrusted(socket: TLSSocket, authorities: string): void {
    if (socket.authorized) return;
    isResumable = false;
    session = undefined;
    const fault = trustFault(socket, authorities, name.servername === "" ? host : name.servername);
    if (fault !== undefined) socket.destroy(fault);
  }

  return (callback) => {
    refuseLiteral(host, addresses);
    // A proxy is asked for a connection, which is of use to TLS alone.
    const proxy = tls === undefined ? undefined : addresses.proxyFor(host, place.port);
    const connecting = new AbortController();
    let socket: Socket | undefined;
    let isSettled = false;
    const end = (error?: Error): void => {
      connecting.abort(error);
      socket?.destroy(error);
    };
    const timer = scheduler.schedule(connectTimeoutMs, () => {
      const late = new ConnectTimeoutError();
      end(late);
      settle(() => callback(late, null));
    });
    const settle = (tell: () => void): void => {
      timer[Symbol.dispose]();
      if (isSettled) return;
      isSettled = true;
      tell();
    };
    const fail = (error: Error): void => settle(() => callback(error, null));
    const follow = (opened: Socket): void => {
      socket = opened;
      opened.once(tls === undefined ? "connect" : "secureConnect", () => {
        if (!opened.destroyed) settle(() => callback(null, opened));
      });
      opened.on("error", fail);
      opened.once("close", () => settle(() => callback(new Error("the connection was closed"), null)));
    };
    const followTunnel = (tunnel: Socket): void => {
      if (connecting.signal.aborted) tunnel.destroy();
      else follow(open(tunnel.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS)));
    };
    if (proxy === undefined) follow(open());
    else connectThrough(proxy, host, place.port, connecting.signal).then(followTunnel).catch(fail);
    return { destroy: () => end() };
  };
}
