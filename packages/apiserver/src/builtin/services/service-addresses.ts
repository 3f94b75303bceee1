// The addresses of Services of one cluster, and their ports on nodes: which are free, and which are taken.
// Source: k8s.io/kubernetes/pkg/registry/core/service/{ipallocator,portallocator}

import type { CacheView } from "../../cache/watch-cache.ts";
import { clusterIPOf, type Service } from "./service.ts";

/** What kubeadm gives its clusters. Nothing is sent there: it only has to look as everywhere else. */
export const SERVICE_NETWORK = "10.96.0.0/12";
const FIRST = 0x0a_60_00_00;
const SIZE = 2 ** 20;
/** The first is that of the API itself. */
const RESERVED = 1;
export const NODE_PORTS = { first: 30_000, last: 32_767 } as const;

const TRIES = 64;
/** What was chosen and is not in the cache yet is kept in mind for a while: writes take milliseconds. */
const CHOSEN_MS = 30_000;

export type ServiceAddresses = {
  /** An address that no Service has. Throws where there is none. */
  chooseAddress(): string;
  /** Undefined where it can be had; otherwise why not. */
  refuseAddress(address: string, service: Service): string | undefined;
  choosePort(): number;
  refusePort(port: number, service: Service): string | undefined;
};

export type ServiceAddressDeps = {
  readonly view: CacheView;
  readonly prefix: string;
  /** Milliseconds that never go back. */
  readonly elapsed: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
};

export function createServiceAddresses({ view, prefix, elapsed, random }: ServiceAddressDeps): ServiceAddresses {
  /** By address or port, and when it was chosen. */
  const chosen = new Map<string | number, number>();

  const services = (): readonly Service[] => view.list(prefix).map((object) => object.decode() as Service);

  function taken(): ReadonlySet<string | number> {
    const now = elapsed();
    for (const [value, at] of chosen) if (now - at > CHOSEN_MS) chosen.delete(value);
    const found = new Set<string | number>(chosen.keys());
    for (const service of services()) {
      found.add(clusterIPOf(service));
      for (const { nodePort = 0 } of service.spec?.ports ?? []) found.add(nodePort);
    }
    return found;
  }

  function choose<T extends string | number>(count: number, at: (index: number) => T): T {
    const known = taken();
    const start = Math.floor(random() * count);
    for (let attempt = 0; attempt < count; attempt++) {
      // At random first, so that two servers on one store do not choose the same; then whatever is left.
      const index = attempt < TRIES ? Math.floor(random() * count) : (start + attempt) % count;
      const value = at(index);
      if (known.has(value)) continue;
      chosen.set(value, elapsed());
      return value;
    }
    throw new Error("range is full");
  }

  const others = ({ metadata }: Service): readonly Service[] =>
    services().filter((other) => other.metadata.uid !== metadata.uid);

  return {
    chooseAddress: () => choose(SIZE - 2 - RESERVED, (index) => formatAddress(FIRST + 1 + RESERVED + index)),
    refuseAddress(address, service) {
      const number = parseAddress(address);
      const offset = number === undefined ? -1 : number - FIRST;
      if (offset <= 0 || offset >= SIZE - 1) {
        return `failed to allocate IP ${address}: the provided IP (${address}) is not in the valid range. The range of valid IPs is ${SERVICE_NETWORK}`;
      }
      const isTaken = offset === RESERVED || others(service).some((other) => clusterIPOf(other) === address);
      return isTaken ? `failed to allocate IP ${address}: provided IP is already allocated` : undefined;
    },
    choosePort: () => choose(NODE_PORTS.last - NODE_PORTS.first + 1, (index) => NODE_PORTS.first + index),
    refusePort(port, service) {
      if (port < NODE_PORTS.first || port > NODE_PORTS.last) {
        return `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`;
      }
      const isTaken = others(service).some(
        ({ spec }) => spec?.ports?.some(({ nodePort }) => nodePort === port) === true,
      );
      return isTaken ? "provided port is already allocated" : undefined;
    },
  };
}

const formatAddress = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");

/** Undefined for what is no IPv4 address. */
function parseAddress(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255))
    return undefined;
  return parts.reduce((number, part) => number * 256 + Number(part), 0);
}
