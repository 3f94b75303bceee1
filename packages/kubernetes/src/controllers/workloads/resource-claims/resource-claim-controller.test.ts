// ResourceClaims of pods in a cluster whose workloads are controlled, held against a kube-controller-manager 1.36.2.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });
const { send } = controlledClient(cluster);

const PODS = "/api/v1/namespaces/default/pods";
const DEVICES = "/apis/resource.k8s.io/v1/namespaces/default";

type Objects = { readonly [name: string]: unknown };
type Step = {
  readonly title: string;
  readonly requests: readonly { readonly method: string; readonly path: string; readonly body?: object }[];
  /** Those that are new or different after the requests; null for those that are gone. */
  readonly changes: { readonly [list: string]: Objects };
};

const steps: readonly Step[] = JSON.parse(readFileSync(new URL("testdata/steps-1.36.json", import.meta.url), "utf8"));

const itemsAt = async (path: string): Promise<readonly any[]> => (await send("GET", path)).items;

/** Without what differs from run to run: a generated name ends with a question mark, and a uid is that of a pod. */
async function stateNow(): Promise<{ readonly [list: string]: Objects }> {
  const [pods, claims] = [await itemsAt(PODS), await itemsAt(`${DEVICES}/resourceclaims`)];
  const owners = new Map(pods.map(({ metadata }) => [metadata.uid, `uid of ${metadata.name}`]));
  const shownUid = <T extends { readonly uid: string }>(one: T): T => ({ ...one, uid: owners.get(one.uid) ?? one.uid });
  const shownName = ({ generateName, name }: any): string => (generateName === undefined ? name : `${generateName}?`);
  const names = new Map(claims.map(({ metadata }) => [metadata.name, shownName(metadata)]));
  const events = (await itemsAt("/api/v1/namespaces/default/events")).filter(
    ({ reason }) => reason === "FailedResourceClaimCreation",
  );
  return {
    claims: Object.fromEntries(
      claims.map(({ metadata, spec, status: { reservedFor, ...status } }) => {
        const { generateName, labels, annotations, finalizers, ownerReferences, deletionTimestamp } = metadata;
        const shown = { generateName, labels, annotations, finalizers, isDeleted: deletionTimestamp !== undefined };
        return [
          shownName(metadata),
          {
            metadata: { ...shown, name: shownName(metadata), ownerReferences: ownerReferences?.map(shownUid) },
            spec,
            status: { ...status, reservedFor: reservedFor?.map(shownUid) },
          },
        ];
      }),
    ),
    pods: Object.fromEntries(
      pods.map(({ metadata, status }) => [
        metadata.name,
        (status.resourceClaimStatuses ?? []).map(({ name, resourceClaimName }: any) => ({
          name,
          ...(resourceClaimName === undefined ? {} : { resourceClaimName: names.get(resourceClaimName) ?? "gone" }),
        })),
      ]),
    ),
    events: Object.fromEntries(
      events.map(({ involvedObject, type, message, source }) => [
        involvedObject.name,
        [type, message, source.component],
      ]),
    ),
  };
}

/** Fills in uids of pods, `${uid:pod}`, and names of generated claims, `${claim:pod/name}`. */
async function filledIn(text: string): Promise<string> {
  const pods = await itemsAt(PODS);
  return text.replaceAll(/\$\{(\w+):([^/}]+)\/?([^}]*)\}/g, (_all, _kind, podName: string, claimName: string) => {
    const { metadata, status } = pods.find((pod) => pod.metadata.name === podName);
    if (claimName === "") return metadata.uid;
    return status.resourceClaimStatuses.find(({ name }: any) => name === claimName).resourceClaimName;
  });
}

describe("as by kube-controller-manager", () => {
  const expected: { [list: string]: { [name: string]: unknown } } = { claims: {}, pods: {}, events: {} };
  for (const { title, requests, changes } of steps) {
    it(title, async () => {
      for (const request of requests) {
        const { method, path, body } = JSON.parse(await filledIn(JSON.stringify(request)));
        await send(method, path, body);
      }
      for (const [list, objects] of Object.entries(changes)) {
        for (const [name, object] of Object.entries(objects)) {
          if (object === null) delete expected[list]![name];
          else expected[list]![name] = object;
        }
      }
      await expect.poll(stateNow, { timeout: 20_000 }).toEqual(expected);
    });
  }
});

/** A kube-controller-manager takes a claim that it has made for one that is there for an hour, whether or not it has been deleted. */
describe("claims that are deleted", () => {
  const namesOf = async (pod: string) => (await send("GET", `${PODS}/${pod}`)).status.resourceClaimStatuses;
  const claimNames = async () => (await itemsAt(`${DEVICES}/resourceclaims`)).map(({ metadata }) => metadata.name);
  const podWith = (name: string, spec: object) =>
    send("POST", PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [{ name: "a", image: "i" }], ...spec },
    });

  it("are made again, and the status keeps the others", async () => {
    const resourceClaims = ["one", "two"].map((name) => ({ name, resourceClaimTemplateName: "plain" }));
    await podWith("again", { resourceClaims });
    const names = await namesOf("again");
    await send("DELETE", `${DEVICES}/resourceclaims/${names[1].resourceClaimName}`);
    await expect.poll(claimNames).toEqual(expect.arrayContaining(names.map((each: any) => each.resourceClaimName)));
    expect(await namesOf("again")).toEqual(names);
  });

  it("are not made again for a pod that is done", async () => {
    await podWith("done", { resourceClaims: [{ name: "one", resourceClaimTemplateName: "plain" }] });
    const [{ resourceClaimName }] = await namesOf("done");
    const { metadata } = await send("GET", `${DEVICES}/resourceclaims/${resourceClaimName}`);
    await send("PATCH", `${PODS}/done/status`, { status: { phase: "Succeeded" } });
    await expect.poll(claimNames).not.toContain(resourceClaimName);
    // Another version of the pod is looked at again.
    const { metadata: pod } = await send("PATCH", `${PODS}/done`, { metadata: { labels: { a: "b" } } });
    expect(await claimNames()).not.toContain(resourceClaimName);
    // Between them lie the status of the pod twice, the deletion and the label: the claim was not made and deleted again and again.
    expect(Number(pod.resourceVersion) - Number(metadata.resourceVersion)).toBeLessThan(6);
  });
});
