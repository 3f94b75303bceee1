import type { Cluster } from "@postern/api/cluster";
import { createPlatformNames } from "@postern/api/platform-names";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { describe, expect, it } from "vitest";
import { serverAddressOf } from "./server-address.ts";

const names = createPlatformNames({ domain: "example.test", name: "example", projectNamespacePrefix: "p-" });
const API = "management.example.test/v1";
const PLATFORM = {
  url: "https://platform.test/kubernetes/project/shop/virtualcluster/web",
  certificateAuthorityPem: "P",
};

type ClusterRef = { readonly cluster?: string; readonly namespace?: string };

const instance = (
  enabled: boolean,
  clusterRef: ClusterRef = { cluster: "far" },
  spec: VirtualClusterInstance["spec"] = { verifiesTokens: true },
): VirtualClusterInstance => ({
  apiVersion: API,
  kind: "VirtualClusterInstance",
  metadata: { name: "web", namespace: "p-shop" },
  spec: { ...spec, clusterRef, template: { accessPoint: { ingress: { enabled } } } },
});
const cluster = (suffix?: string): Cluster => ({
  apiVersion: API,
  kind: "Cluster",
  metadata: {
    name: "far",
    ...(suffix === undefined ? {} : { annotations: { "example.test/ingress-suffix": suffix } }),
  },
});

const addressOf = (options: {
  readonly enabled: boolean;
  readonly endpoint: "platform" | "ingress";
  readonly suffix?: string;
  readonly proxyFallback?: boolean;
  readonly clusterRef?: ClusterRef;
  readonly server?: string;
  readonly spec?: VirtualClusterInstance["spec"];
  readonly needs?: { readonly needsOwnEndpoint?: boolean; readonly needsPlatform?: boolean };
}) =>
  serverAddressOf(
    instance(options.enabled, options.clusterRef, options.spec),
    { endpoint: options.endpoint, ownServer: "https://own.test:6443", serverCertificateAuthority: "C" },
    { server: options.server, ...options.needs },
    {
      names,
      lookup: { cluster: () => cluster(options.suffix) },
      endpoint: { url: () => "https://platform.test", certificateAuthorityPem: "P" },
      proxyFallback: options.proxyFallback ?? false,
    },
  );

describe("the address in a kubeconfig", () => {
  it("is the virtual cluster's own host, verified by its own authority, where it has an ingress endpoint", () => {
    const address = { url: "https://web-shop.eu.example.com", certificateAuthorityPem: "C" };
    expect(addressOf({ enabled: true, endpoint: "ingress", suffix: "eu.example.com" })).toEqual(address);
    expect(addressOf({ enabled: true, endpoint: "ingress", suffix: ".eu.example.com" })).toEqual(address);
  });

  it("is the server of its own kubeconfig, for a virtual cluster outside the platform's clusters", () => {
    const address = { url: "https://own.test:6443", certificateAuthorityPem: "C" };
    expect(addressOf({ enabled: true, endpoint: "ingress", clusterRef: { namespace: "p-shop" } })).toEqual(address);
    const disabled = { enabled: false, endpoint: "ingress", clusterRef: {} } as const;
    expect(() => addressOf(disabled)).toThrow("spec.template.accessPoint.ingress.enabled");
  });

  it("is the platform's for a token that the virtual cluster does not verify, and its own for a certificate", () => {
    const own = { url: "https://web-shop.eu.example.com", certificateAuthorityPem: "C" };
    const connected = { enabled: true, endpoint: "ingress", suffix: "eu.example.com", spec: {} } as const;
    expect(addressOf(connected)).toEqual(PLATFORM);
    expect(addressOf({ ...connected, spec: { verifiesTokens: false } })).toEqual(PLATFORM);
    expect(addressOf({ ...connected, needs: { needsOwnEndpoint: true } })).toEqual(own);
    // A read-only token has rules, which no cluster learns.
    const verifying = { ...connected, spec: { verifiesTokens: true } };
    expect(addressOf(verifying)).toEqual(own);
    expect(addressOf({ ...verifying, needs: { needsPlatform: true } })).toEqual(PLATFORM);
  });

  it("is the platform's for a token of an external one, which needs no ingress endpoint for it", () => {
    for (const enabled of [true, false]) {
      const external = { enabled, endpoint: "ingress", clusterRef: {}, spec: { external: true } } as const;
      expect(addressOf(external)).toEqual(PLATFORM);
    }
    const certificate = { needsOwnEndpoint: true };
    const external = { endpoint: "ingress", clusterRef: {}, spec: { external: true }, needs: certificate } as const;
    expect(() => addressOf({ ...external, enabled: false })).toThrow("spec.template.accessPoint.ingress.enabled");
    expect(addressOf({ ...external, enabled: true })).toEqual({
      url: "https://own.test:6443",
      certificateAuthorityPem: "C",
    });
  });

  it("is the platform's for a virtual cluster that the platform serves itself", () => {
    for (const enabled of [true, false]) expect(addressOf({ enabled, endpoint: "platform" })).toEqual(PLATFORM);
  });

  it("is one that the caller names, verified as the platform where it is the platform's for this virtual cluster", () => {
    const server = `https://other-name.test${new URL(PLATFORM.url).pathname}`;
    // Nothing is missing there, whatever the virtual cluster itself has.
    expect(addressOf({ enabled: false, endpoint: "ingress", server })).toEqual({ ...PLATFORM, url: server });
    const elsewhere = { enabled: true, endpoint: "ingress", suffix: "eu.example.com" } as const;
    for (const named of ["https://named.test", `${server}-2`])
      expect(addressOf({ ...elsewhere, server: named })).toEqual({ url: named, certificateAuthorityPem: "C" });
  });

  it.each([
    [{ enabled: false, endpoint: "ingress", suffix: "x.test" }, "spec.template.accessPoint.ingress.enabled"],
    [{ enabled: true, endpoint: "ingress" }, 'annotate cluster "far" with example.test/ingress-suffix'],
  ] as const)(
    "is refused for %j with what is missing, or is the platform's where so configured",
    (options, missing) => {
      expect(() => addressOf(options)).toThrow(missing);
      expect(addressOf({ ...options, proxyFallback: true })).toEqual(PLATFORM);
    },
  );
});
