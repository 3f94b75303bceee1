// The port for the address at which clients reach the platform.

import { BlockList, isIP } from "node:net";
import type { ApiAddress } from "@postern/kubernetes/controllers/api-service/api-service-controller";

export type PlatformEndpoint = {
  /** Such as `https://platform.example.com:8443`, without a slash at the end. Known once the server listens. */
  url(): string;
  /** CA certificates in PEM for its certificate; undefined for public CAs. */
  readonly certificateAuthorityPem: string | undefined;
  /** Calls back when `certificateAuthorityPem` is another one. Absent: it stays as it is. */
  onAuthorityChange?(listener: () => void): Disposable;
};

const HTTPS_PORT = 443;

/**
 * The IP and port in a URL. Undefined for a host name, and for addresses that Kubernetes allows in no Endpoints, such as those of the loopback
 * interface.
 */
export function apiAddressOf(url: string): ApiAddress | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  const ip = hostname.replace(/^\[(.*)\]$/, "$1");
  const version = isIP(ip);
  if (version === 0 || specialAddresses().check(ip, version === 4 ? "ipv4" : "ipv6")) return undefined;
  return { ip, port: port === "" ? HTTPS_PORT : Number(port) };
}

/** Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateNonSpecialIP) */
function specialAddresses(): BlockList {
  const special = new BlockList();
  for (const [address, prefix] of [
    ["0.0.0.0", 32],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["224.0.0.0", 24],
  ] as const) {
    special.addSubnet(address, prefix, "ipv4");
  }
  for (const [address, prefix] of [
    ["::", 128],
    ["::1", 128],
    ["fe80::", 10],
    ["ff02::", 16],
  ] as const) {
    special.addSubnet(address, prefix, "ipv6");
  }
  return special;
}
