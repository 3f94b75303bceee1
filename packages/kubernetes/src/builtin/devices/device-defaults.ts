// Defaults of requests for devices.
// Source: k8s.io/kubernetes/pkg/apis/resource/v1/{defaults,zz_generated.defaults}.go

import type { DeviceSubRequest, DeviceToleration, ResourceClaimSpec } from "./device-objects.ts";

const EXACT_COUNT = "ExactCount";

export const withTolerationDefaults = <T extends { readonly tolerations?: readonly DeviceToleration[] }>(
  holder: T,
): T =>
  holder.tolerations === undefined
    ? holder
    : {
        ...holder,
        tolerations: holder.tolerations.map((each) => ({ ...each, operator: each.operator || "Equal" })),
      };

function withRequestDefaults<T extends DeviceSubRequest>(request: T): T {
  const mode = request.allocationMode || EXACT_COUNT;
  const isCounted = mode === EXACT_COUNT && Number(request.count ?? 0) === 0;
  return withTolerationDefaults({ ...request, allocationMode: mode, ...(isCounted ? { count: 1 } : {}) });
}

export function withClaimDefaults<T extends ResourceClaimSpec>(spec: T): T {
  const requests = spec.devices?.requests;
  if (!Array.isArray(requests)) return spec;
  return {
    ...spec,
    devices: {
      ...spec.devices,
      requests: requests.map((request) => ({
        ...request,
        ...(request.exactly === undefined ? {} : { exactly: withRequestDefaults(request.exactly) }),
        ...(request.firstAvailable === undefined
          ? {}
          : { firstAvailable: request.firstAvailable.map(withRequestDefaults) }),
      })),
    },
  };
}
