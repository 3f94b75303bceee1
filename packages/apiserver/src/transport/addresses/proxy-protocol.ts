// The header with which a load balancer names the client of a connection that it passes on, in front of the TLS handshake: PROXY protocol, versions 1 and 2.
// Source: https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt

import { isIP, type Socket } from "node:net";
import { type Faults, guarded } from "../../logging/faults.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import { withoutMapping } from "./ip-networks.ts";

/** `client` is absent where the load balancer speaks for itself, as in its health checks. */
export type ProxyHeader = { readonly length: number; readonly client: string | undefined };

const CRLF = "\r\n";
const VERSION_1 = Buffer.from("PROXY ");
const MAX_LINE = 107;

const VERSION_2 = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const HEADER_BYTES = 16;
/** Load balancers add a few hundred bytes beside the addresses, such as the identifier of an endpoint. */
const MAX_HEADER_BYTES = 4_096;
const LOCAL = 0x20;
const PROXY = 0x21;
const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;

/** "incomplete" asks for more bytes; "malformed" is for a connection without a header, or with one that has no meaning. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | "incomplete" | "malformed" {
  if (startsAs(bytes, VERSION_2)) return bytes.length < HEADER_BYTES ? "incomplete" : parseBinary(bytes);
  if (startsAs(bytes, VERSION_1)) return parseLine(bytes);
  return "malformed";
}

/** Also where only the first bytes are there. */
const startsAs = (bytes: Buffer, signature: Buffer): boolean => {
  const length = Math.min(bytes.length, signature.length);
  return bytes.subarray(0, length).equals(signature.subarray(0, length));
};

function parseLine(bytes: Buffer): ProxyHeader | "incomplete" | "malformed" {
  const text = bytes.toString("latin1", 0, Math.min(bytes.length, MAX_LINE));
  const end = text.indexOf(CRLF);
  if (end === -1) return bytes.length < MAX_LINE ? "incomplete" : "malformed";
  const length = end + CRLF.length;
  const [, protocol = "", client = "", ...rest] = text.slice(0, end).split(" ");
  if (protocol === "UNKNOWN") return { length, client: undefined };
  const family = protocol === "TCP4" ? 4 : protocol === "TCP6" ? 6 : 0;
  if (family === 0 || isIP(client) !== family || rest.length !== 3) return "malformed";
  return { length, client: withoutMapping(client) };
}

function parseBinary(bytes: Buffer): ProxyHeader | "incomplete" | "malformed" {
  const length = HEADER_BYTES + bytes.readUInt16BE(14);
  if (length > MAX_HEADER_BYTES) return "malformed";
  if (bytes.length < length) return "incomplete";
  const [command, family] = [bytes[12], bytes[13]];
  if (command === LOCAL) return { length, client: undefined };
  if (command !== PROXY) return "malformed";
  const addresses = bytes.subarray(HEADER_BYTES, length);
  // Other families have no address that limits or an audit log could use.
  if (family !== TCP_OVER_IPV4 && family !== TCP_OVER_IPV6) return { length, client: undefined };
  const octets = family === TCP_OVER_IPV4 ? 4 : 16;
  // Both addresses, and both ports.
  if (addresses.length < 2 * octets + 4) return "malformed";
  return { length, client: withoutMapping(addressOf(addresses.subarray(0, octets))) };
}

function addressOf(octets: Buffer): string {
  if (octets.length === 4) return octets.join(".");
  const groups = Array.from({ length: 8 }, (_, at) => octets.readUInt16BE(2 * at).toString(16));
  // The URL parser writes the shortest form.
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

export type ReadProxyHeaderOptions = {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly timeoutMs: number;
};

/**
 * Calls `onHeader` once, with the bytes behind the header back in the socket. A connection that does not begin with a header, or takes too long, is
 * destroyed.
 */
export function readProxyHeader(
  socket: Socket,
  { scheduler, faults, timeoutMs }: ReadProxyHeaderOptions,
  onHeader: (header: ProxyHeader) => void,
): void {
  let bytes = Buffer.alloc(0);
  const timer = scheduler.schedule(timeoutMs, () => socket.destroy());
  const leave = (): void => {
    timer[Symbol.dispose]();
    socket.off("readable", read);
    socket.off("close", leave);
    socket.off("end", destroy);
  };
  const destroy = (): void => {
    leave();
    socket.destroy();
  };
  const readMore = (): void => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const header = parseProxyHeader(bytes);
      if (header === "incomplete") continue;
      if (header === "malformed") {
        destroy();
        return;
      }
      leave();
      const rest = bytes.subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
      onHeader(header);
      return;
    }
  };
  const read = guarded(faults, "transport", readMore, destroy);
  socket.on("readable", read);
  socket.once("close", leave);
  socket.once("end", destroy);
}
