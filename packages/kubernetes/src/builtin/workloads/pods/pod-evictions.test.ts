// Evictions beside the budgets of the pods. The texts are those of kube-apiserver 1.36.2.

import { describe, expect, it } from "vitest";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const PODS = "/api/v1/namespaces/default/pods";
const BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget.";

const cluster = useClusterSurface();

async function send(method: string, path: string, json?: object) {
  const answer = await cluster.send({ method, path, ...(json === undefined ? {} : { json }) });
  await cluster.settled();
  return answer as { readonly status: number; readonly json: any };
}

async function make(name: string, app: string, status: object): Promise<void> {
  const metadata = { name, labels: { app } };
  const { json } = await send("POST", PODS, { metadata, spec: { containers: [{ name: "a", image: "i" }] } });
  await send("PUT", `${PODS}/${name}/status`, { ...json, status: { ...json.status, ...status } });
}
const READY = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const UNREADY = { phase: "Running", conditions: [{ type: "Ready", status: "False" }] };

const budget = (name: string, app: string, spec: object) =>
  send("POST", BUDGETS, { metadata: { name }, spec: { selector: { matchLabels: { app } }, ...spec } });
const evict = (name: string, rest: object = {}, query = "") =>
  send("POST", `${PODS}/${name}/eviction${query}`, { metadata: { name }, ...rest });
const isThere = async (name: string): Promise<boolean> => (await send("GET", `${PODS}/${name}`)).status === 200;

describe("an eviction", () => {
  it("deletes a pod that no budget counts", async () => {
    await make("free", "free", READY);
    const { status, json } = await evict("free");
    expect([status, json]).toEqual([
      201,
      { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 },
    ]);
    expect(await isThere("free")).toBe(false);
    expect((await evict("free")).status).toBe(404);
  });

  it("goes as far as the budget, and no further, also where many come at once", async () => {
    for (let at = 0; at < 5; at++) await make(`web-${at}`, "web", READY);
    await budget("web", "web", { minAvailable: 3 });
    const names = Array.from({ length: 5 }, (_, at) => `web-${at}`);
    const answers = await Promise.all(
      names.map((name) =>
        cluster.send({ method: "POST", path: `${PODS}/${name}/eviction`, json: { metadata: { name } } }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429, 429]);
    const { json } = answers.find(({ status }) => status === 429) as { json: any };
    expect(json).toMatchObject({
      reason: "TooManyRequests",
      message: REFUSED,
      details: {
        causes: [
          {
            reason: "DisruptionBudget",
            message: expect.stringContaining("The disruption budget web needs 3 healthy pods"),
          },
        ],
      },
    });
    await cluster.settled();
    const left = (await send("GET", `${PODS}?labelSelector=app%3Dweb`)).json.items;
    expect(left).toHaveLength(3);
    const { status } = (await send("GET", `${BUDGETS}/web`)).json;
    expect(status).toMatchObject({ disruptionsAllowed: 0, currentHealthy: 3 });
    expect(status.disruptedPods).toBeUndefined();
  });

  it("changes nothing in a dry run, whichever place says so", async () => {
    await make("dry-0", "dry", READY);
    await make("dry-1", "dry", READY);
    await budget("dry", "dry", { minAvailable: 1 });
    expect((await evict("dry-0", {}, "?dryRun=All")).status).toBe(201);
    expect((await evict("dry-0", { deleteOptions: { dryRun: ["All"] } })).status).toBe(201);
    expect((await send("GET", `${BUDGETS}/dry`)).json.status.disruptionsAllowed).toBe(1);
    expect(await isThere("dry-0")).toBe(true);
  });

  it("lets pods go that are not ready, where those that are stay enough or the budget says so", async () => {
    for (const name of ["sick-0", "sick-1"]) await make(name, "sick", name === "sick-0" ? UNREADY : READY);
    await budget("sick", "sick", { minAvailable: 1 });
    expect((await evict("sick-0")).status).toBe(201);
    expect((await evict("sick-1")).status).toBe(429);
    await make("any", "any", UNREADY);
    await budget("any", "any", { minAvailable: 1 });
    expect((await evict("any")).status).toBe(429);
    const { json } = await send("GET", `${BUDGETS}/any`);
    await send("PUT", `${BUDGETS}/any`, { ...json, spec: { ...json.spec, unhealthyPodEvictionPolicy: "AlwaysAllow" } });
    expect((await evict("any")).status).toBe(201);
  });

  it("lets pods go that have not begun or have ended", async () => {
    await budget("done", "done", { minAvailable: "100%" });
    for (const phase of ["Pending", "Succeeded", "Failed"]) {
      await make("done", "done", { phase });
      expect((await evict("done")).status).toBe(201);
    }
  });

  it("is refused with a wrong name, invalid options, another uid, and two budgets", async () => {
    await make("held", "held", READY);
    const wrong = await send("POST", `${PODS}/held/eviction`, { metadata: { name: "other" } });
    expect([wrong.status, wrong.json.message]).toEqual([400, "name in URL does not match name in Eviction object"]);
    expect((await evict("held", { deleteOptions: { propagationPolicy: "Sideways" } })).status).toBe(422);
    expect((await evict("held", { deleteOptions: { preconditions: { uid: "none" } } })).status).toBe(409);
    await budget("held-1", "held", { minAvailable: 0 });
    await budget("held-2", "held", { minAvailable: 0 });
    const twice = await evict("held");
    expect([twice.status, twice.json.message]).toEqual([
      500,
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    ]);
    expect(await isThere("held")).toBe(true);
  });
});
