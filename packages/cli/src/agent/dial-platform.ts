// Connections to the platform: TLS with the CA of the join, through the HTTP proxy that the environment names.

import { request as httpRequest } from "node:http";
import { isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

export type PlatformAddress = {
  /** An https URL. */
  readonly server: string;
  /** PEM; undefined for the public CAs. */
  readonly certificateAuthority: string | undefined;
  /** Names of variables as programs read them: HTTPS_PROXY and NO_PROXY, in either case. */
  readonly environment: { readonly [name: string]: string | undefined };
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
      ...(through === undefined ? { host, port } : { socket: through }),
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

/** The proxy for a host, as curl finds it. Undefined: none. */
export function proxyFor(host: string, port: number, environment: PlatformAddress["environment"]): URL | undefined {
  const read = (name: string): string => environment[name.toLowerCase()] ?? environment[name] ?? "";
  const proxy = read("HTTPS_PROXY") || read("ALL_PROXY");
  if (proxy === "") return undefined;
  for (const entry of read("NO_PROXY")
    .split(",")
    .map((text) => text.trim().toLowerCase())) {
    if (entry === "") continue;
    if (entry === "*") return undefined;
    const [, name = "", only] = /^\.?(.*?)(?::(\d+))?$/.exec(entry) ?? [];
    const isNamed = host.toLowerCase() === name || host.toLowerCase().endsWith(`.${name}`);
    if (isNamed && (only === undefined || Number(only) === port)) return undefined;
  }
  const url = new URL(proxy.includes("://") ? proxy : `http://${proxy}`);
  if (url.protocol !== "http:") throw new Error("the proxy of HTTPS_PROXY must be an http URL");
  return url;
}

async function connectThrough(proxy: URL, host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const user = decodeURIComponent(proxy.username);
  const login = `${user}:${decodeURIComponent(proxy.password)}`;
  return await new Promise((resolve, reject) => {
    const request = httpRequest({
      method: "CONNECT",
      host: proxy.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: proxy.port === "" ? 80 : Number(proxy.port),
      path: target,
      headers: {
        host: target,
        ...(user === "" ? {} : { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
      },
      agent: false,
      timeout: CONNECT_TIMEOUT_MS,
      signal,
    });
    const fail = (why: string): void => reject(new Error(`the proxy ${proxy.host} ${why}`));
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      fail(`answers CONNECT with ${response.statusCode}`);
    });
    request.once("response", (response) => {
      response.destroy();
      fail(`answers CONNECT with ${response.statusCode}`);
    });
    request.once("timeout", () => request.destroy(new Error("it does not answer")));
    request.once("error", (error) => fail(`cannot be used: ${error.message}`));
    request.end();
  });
}
