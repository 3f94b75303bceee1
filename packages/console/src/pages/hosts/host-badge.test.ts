import { expect, it } from "vitest";
import { hostRemedy, hostStateText } from "./host-badge.tsx";

const clusterWith = (spec: object, status: object) => ({
  ...{ apiVersion: "management.postern/v1", kind: "Cluster", metadata: { name: "eu-west" } },
  spec,
  status,
});

it.each([
  [{ networkPeer: true }, { phase: "Pending", reason: "AgentNotConnected" }, "No agent yet", /^Choose Connect/],
  [{ networkPeer: true }, { phase: "Failed", reason: "AgentNotConnected" }, "Failed", /kubectl get pods/],
  [{ networkPeer: true }, { phase: "Failed", reason: "ConnectTimeout" }, "Failed", /pod of the agent/],
  [{}, { phase: "Pending", reason: "KubeConfigNotFound" }, "No kubeconfig", /^Choose Set kubeconfig/],
  [{}, { phase: "Pending", reason: "ConnectionRefused" }, "Pending", /Check the address/],
  [{}, {}, "Pending", /Check the address/],
  [{ local: true }, { phase: "Initialized" }, "Connected", undefined],
])("a host cluster with %j and %j says what to do", (spec, status, state, remedy) => {
  const cluster = clusterWith(spec, status) as Parameters<typeof hostRemedy>[0];
  expect(hostStateText(cluster)).toBe(state);
  if (remedy === undefined) expect(hostRemedy(cluster)).toBeUndefined();
  else expect(hostRemedy(cluster)).toMatch(remedy);
});
