// The addresses of Services of one cluster, and their ports on nodes: which are free, and which are taken.
// Source: k8s.io/kubernetes/pkg/registry/core/service/{ipallocator,portallocator}

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ServiceTotals } from "./service-totals.ts";

/** Service network of kubeadm clusters. Nothing is sent there: it only has to look as everywhere else. */
export const SERVICE_NETWORK = "10.96.0.0/12";
const FIRST = 0x0a_60_00_00;
const SIZE = 2 ** 20;
/** The first is that of the API itself. */
const RESERVED = 1;
export const API_SERVICE_ADDRESS = "10.96.0.1";
const NODE_PORTS = { first: 30_000, last: 32_767 } as const;

const TRIES = 64;
/** A chosen address or port that is not in the cache yet is remembered for a while: writes take milliseconds. */
const CHOSEN_MS = 30_000;

export type ServiceAddresses = {
  /** Undefined once all Services are known; otherwise callers have to wait. */
  ready(): Promise<void> | undefined;
  /** A free address. Throws if there is none. */
  chooseAddress(): string;
  /** Undefined where a Service can have it that has not; otherwise why not. */
  refuseAddress(address: string, of: Pick<KubeObject, "metadata">): string | undefined;
  choosePort(): number;
  refusePort(port: number): string | undefined;
};

export type ServiceAddressDeps = {
  readonly totals: Pick<ServiceTotals, "ready" | "has">;
  /** Milliseconds that never go back. */
  readonly elapsed: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
};

export function createServiceAddresses({ totals, elapsed, random }: ServiceAddressDeps): ServiceAddresses {
  /** By address or port, and when it was chosen: the oldest first. */
  const chosen = new Map<string | number, number>();

  function isTaken(value: string | number): boolean {
    return chosen.has(value) || totals.has(value);
  }

  function forgetOld(): void {
    const now = elapsed();
    for (const [value, at] of chosen) {
      if (now - at <= CHOSEN_MS) return;
      chosen.delete(value);
    }
  }

  function choose<T extends string | number>(count: number, at: (index: number) => T): T {
    forgetOld();
    const start = Math.floor(random() * count);
    for (let attempt = 0; attempt < count; attempt++) {
      // At random first, so that two servers on one store do not choose the same; then whatever is left.
      const index = attempt < TRIES ? Math.floor(random() * count) : (start + attempt) % count;
      const value = at(index);
      if (isTaken(value)) continue;
      chosen.set(value, elapsed());
      return value;
    }
    throw new Error("range is full");
  }

  return {
    ready: () => totals.ready(),
    chooseAddress: () => choose(SIZE - 2 - RESERVED, (index) => formatAddress(FIRST + 1 + RESERVED + index)),
    refuseAddress(address, { metadata: { namespace, name } }) {
      const number = parseAddress(address);
      const offset = number === undefined ? -1 : number - FIRST;
      if (offset <= 0 || offset >= SIZE - 1) {
        return `failed to allocate IP ${address}: the provided network does not match the current range`;
      }
      const isApi = namespace === "default" && name === "kubernetes";
      return (offset === RESERVED && !isApi) || totals.has(address)
        ? `failed to allocate IP ${address}: provided IP is already allocated`
        : undefined;
    },
    choosePort: () => choose(NODE_PORTS.last - NODE_PORTS.first + 1, (index) => NODE_PORTS.first + index),
    refusePort(port) {
      if (port < NODE_PORTS.first || port > NODE_PORTS.last) {
        return `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`;
      }
      return totals.has(port) ? "provided port is already allocated" : undefined;
    },
  };
}

const formatAddress = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");

/** Undefined if the text is not an IPv4 address. */
function parseAddress(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255))
    return undefined;
  return parts.reduce((number, part) => number * 256 + Number(part), 0);
}
