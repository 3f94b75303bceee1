// Connections to the platform: TLS with the CA of the join, through the HTTP proxy that the environment names.

import { isIP } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { connectThrough, type ProxyEnvironment, proxyFor } from "@postern/client/transport/http-proxy";

export type PlatformAddress = {
  /** An https URL. */
  readonly server: string;
  /** PEM; undefined for the public CAs. */
  readonly certificateAuthority: string | undefined;
  readonly environment: ProxyEnvironment;
};

const CONNECT_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 15_000;

/** Rejects with an error whose message says what to look at. */
export async function dialPlatform(address: PlatformAddress, signal: AbortSignal): Promise<TLSSocket> {
  const url = new URL(address.server);
  if (url.protocol !== "https:") throw new Error("the address of the platform is no https URL");
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? 443 : Number(url.port);
  const proxy = proxyFor(host, port, address.environment);
  const through = proxy === undefined ? undefined : await connectThrough(proxy, host, port, signal);
  return await new Promise((resolve, reject) => {
    const { certificateAuthority: ca } = address;
    const socket = connectTls({
      // The certificate is compared with the host, also where there is a socket.
      host,
      port,
      ...(through === undefined ? {} : { socket: through }),
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["http/1.1"],
      minVersion: "TLSv1.2",
      ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    });
    const fail = (error: Error): void => {
      end();
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(new Error("stopped"));
    const timer = setTimeout(() => fail(new Error(`${host}:${port} does not answer`)), CONNECT_TIMEOUT_MS);
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", (error) => fail(explained(error, through !== undefined)));
    socket.once("secureConnect", () => {
      end();
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      socket.setNoDelay(true);
      resolve(socket);
    });
    if (signal.aborted) onAbort();
  });
}

const TRUST_CODES = [
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
];

function explained(error: NodeJS.ErrnoException, isProxied: boolean): Error {
  const code = error.code ?? "";
  const why = TRUST_CODES.includes(code)
    ? "its certificate is not signed by the CA of the join: another server answers, or a proxy reads along, or the CA was replaced"
    : code === "CERT_NOT_YET_VALID" || code === "CERT_HAS_EXPIRED"
      ? `its certificate is not valid now (${code}): compare the clocks`
      : code === "ERR_TLS_CERT_ALTNAME_INVALID"
        ? "its certificate is for another name"
        : error.message;
  return new Error(`${isProxied ? "through the proxy: " : ""}${why}`, { cause: error });
}
