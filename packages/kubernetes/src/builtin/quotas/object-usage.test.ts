import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { expect, it } from "vitest";
import { ONE, resourceClaimUsage } from "./object-usage.ts";

const gpus = (count: JsonValue) => ({ deviceClassName: "gpu", allocationMode: "ExactCount", count });

it.each<readonly [what: string, requests: JsonValue, devices: bigint | undefined]>([
  ["two requests", [{ exactly: gpus(2) }, { exactly: gpus(3) }], 5n],
  ["the larger of two alternatives", [{ firstAvailable: [gpus(2), gpus(3)] }], 3n],
  ["all devices", [{ exactly: { deviceClassName: "gpu", allocationMode: "All" } }], 32n],
  // An object of an earlier definition is unchecked.
  ["no number", [{ exactly: gpus("many") }, { exactly: gpus(1.5) }, { exactly: 5 }, null], undefined],
  ["no list", 5, undefined],
])("counts the devices of a claim with %s", (_, requests, devices) => {
  const claim = { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "a" } };
  const { amounts } = resourceClaimUsage({ ...claim, spec: { devices: { requests } } });
  expect(amounts.get("gpu.deviceclass.resource.k8s.io/devices")).toBe(devices && devices * ONE);
});
