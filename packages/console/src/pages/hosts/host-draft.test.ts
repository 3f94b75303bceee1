import type { Cluster } from "@postern/api/cluster";
import { describe, expect, it } from "vitest";
import { mergePatchOf } from "../../api/spec-changes.ts";
import { EMPTY_HOST, hostDraftOf, hostSpecOf } from "./host-draft.ts";

const clusterWith = (spec: object): Cluster => ({
  apiVersion: "management.postern/v1",
  kind: "Cluster",
  metadata: { name: "eu-west" },
  spec: { local: true, ...spec },
});
const patchOf = (spec: object, isClosed: boolean) => {
  const draft = hostDraftOf(clusterWith(spec));
  return mergePatchOf(hostSpecOf(draft), hostSpecOf({ ...draft, isClosed }));
};

describe("a host cluster in its form", () => {
  it.each([
    [{}, false],
    [{ usable: true }, false],
    [{ unusable: false }, false],
    [{ usable: false }, true],
    [{ unusable: true }, true],
    [{ usable: true, unusable: true }, true],
  ])("with %j is closed: %s", (spec, isClosed) => {
    expect(hostDraftOf(clusterWith(spec)).isClosed).toBe(isClosed);
    expect(patchOf(spec, isClosed)).toEqual({});
  });

  it.each([
    [{ usable: false }, { usable: null }],
    [{ unusable: true }, { unusable: null }],
    [
      { usable: false, unusable: true },
      { usable: null, unusable: null },
    ],
  ])("with %j is opened by %j", (spec, patch) => {
    expect(patchOf(spec, false)).toEqual(patch);
  });

  it("has an agent or the Secret of a kubeconfig, and one of them when it is changed", () => {
    const kubeConfigRef = { secretNamespace: "clusters", secretName: "eu-west" };
    const byKubeconfig = hostDraftOf(clusterWith({ local: false, kubeConfigRef }));
    const byAgent = hostDraftOf(clusterWith({ local: false, networkPeer: true }));
    expect([byKubeconfig.way, byAgent.way]).toEqual(["kubeconfig", "agent"]);
    expect(mergePatchOf(hostSpecOf(byKubeconfig), hostSpecOf({ ...byKubeconfig, way: "agent" }))).toEqual({
      kubeConfigRef: null,
      networkPeer: true,
    });
    expect(hostSpecOf({ ...EMPTY_HOST, name: "eu-west", way: "kubeconfig" })).toEqual({ kubeConfigRef });
    expect(hostSpecOf({ ...EMPTY_HOST, name: "eu-west" })).toEqual({ networkPeer: true });
  });

  it("is closed by spec.usable", () => {
    expect(patchOf({}, true)).toEqual({ usable: false });
    expect(hostSpecOf({ ...EMPTY_HOST, way: "local", isClosed: true })).toEqual({ usable: false });
  });
});
