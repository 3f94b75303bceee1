// Jobs of a cluster whose workloads are controlled: a test writes the status of pods, as a kubelet would.

import { describe, expect, test } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });

const PODS = "/api/v1/namespaces/default/pods";
const JOBS = "/apis/batch/v1/namespaces/default/jobs";

const { send } = controlledClient(cluster);

const make = (name: string, spec: object, restartPolicy = "Never") =>
  send("POST", JOBS, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name },
    spec: { template: { spec: { restartPolicy, containers: [{ name: "a", image: "i" }] } }, ...spec },
  });
const jobOf = (name: string) => send("GET", `${JOBS}/${name}`);
const podsOf = async (name: string) => (await send("GET", `${PODS}?labelSelector=job-name%3D${name}`)).items as any[];
const activeOf = async (name: string) =>
  (await podsOf(name)).filter(({ status }) => status.phase === "Pending" || status.phase === "Running");
const end = async (pod: any, phase: string, others: object = {}) =>
  await send("PUT", `${PODS}/${pod.metadata.name}/status`, { ...pod, status: { ...pod.status, phase, ...others } });
const conditionsOf = ({ status }: any) => (status.conditions ?? []).map(({ type, reason }: any) => `${type} ${reason}`);
const longAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString().replace(/\.\d+/, "");
const ended = (seconds: number, exitCode = 1) => ({
  containerStatuses: [
    {
      name: "a",
      ready: false,
      restartCount: 0,
      image: "i",
      imageID: "",
      state: { terminated: { exitCode, finishedAt: longAgo(seconds) } },
    },
  ],
});

describe("a Job", () => {
  test("makes a pod that it holds until it has counted it", async () => {
    await make("one", {});
    const [pod] = await podsOf("one");
    expect(pod.metadata).toMatchObject({ finalizers: ["batch.kubernetes.io/job-tracking"], generateName: "one-" });
    expect((await jobOf("one")).status).toEqual({
      active: 1,
      ready: 0,
      terminating: 0,
      startTime: expect.any(String),
      uncountedTerminatedPods: {},
    });
    await end(pod, "Succeeded");
    const { status } = await jobOf("one");
    expect(status).toMatchObject({ succeeded: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
    expect(status.completionTime).toEqual(expect.any(String));
    expect(conditionsOf({ status })).toEqual(["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]);
    expect((await podsOf("one"))[0].metadata.finalizers).toBeUndefined();
  });

  test("has no more pods than are to succeed, and no more at a time than it may", async () => {
    await make("many", { completions: 3, parallelism: 2 });
    const counts: number[] = [];
    for (let round = 0; round < 3; round++) {
      const active = await activeOf("many");
      counts.push(active.length);
      await end(active[0], "Succeeded");
    }
    expect(counts).toEqual([2, 2, 1]);
    expect((await jobOf("many")).status).toMatchObject({ succeeded: 3 });
    expect(await podsOf("many")).toHaveLength(3);
  });

  test("of a work queue is complete when one pod has succeeded and none is active", async () => {
    await make("queue", { parallelism: 2 });
    const [first, second] = await activeOf("queue");
    await end(first, "Succeeded");
    expect(conditionsOf(await jobOf("queue"))).toEqual([]);
    await end(second, "Failed");
    expect(conditionsOf(await jobOf("queue"))).toContain("Complete CompletionsReached");
  });

  test("waits before it replaces a failed pod, and fails after as many as it may", async () => {
    await make("fails", { backoffLimit: 1 });
    const [pod] = await activeOf("fails");
    await end(pod, "Failed");
    expect(await activeOf("fails")).toEqual([]);
    const failed = await send("GET", `${PODS}/${pod.metadata.name}`);
    await end(failed, "Failed", ended(60));
    const [next] = await activeOf("fails");
    await end(next, "Failed");
    const job = await jobOf("fails");
    expect(job.status).toMatchObject({ failed: 2 });
    expect(conditionsOf(job)).toEqual(["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]);
  });

  test("that fails takes its active pods with it and counts them", async () => {
    await make("together", { backoffLimit: 0, parallelism: 3, completions: 3 });
    const [pod] = await activeOf("together");
    await end(pod, "Failed");
    expect(await activeOf("together")).toEqual([]);
    expect((await jobOf("together")).status).toMatchObject({ failed: 3 });
  });

  test("that is suspended has no pods, and all its time again when it goes on", async () => {
    await make("paused", { suspend: true, parallelism: 2, completions: 2 });
    expect(await podsOf("paused")).toEqual([]);
    const { status } = await jobOf("paused");
    expect(conditionsOf({ status })).toEqual(["Suspended JobSuspended"]);
    expect(status.startTime).toBeUndefined();
    await send("PATCH", `${JOBS}/paused`, { spec: { suspend: false } });
    const resumed = await jobOf("paused");
    expect(resumed.status).toMatchObject({ active: 2, startTime: expect.any(String) });
    expect(resumed.status.conditions).toMatchObject([{ type: "Suspended", status: "False", reason: "JobResumed" }]);
    await send("PATCH", `${JOBS}/paused`, { spec: { suspend: true } });
    expect(await podsOf("paused")).toEqual([]);
    const again = await jobOf("paused");
    expect(again.status.failed).toBeUndefined();
    expect(again.status.conditions).toMatchObject([{ type: "Suspended", status: "True" }]);
  });

  test("that is indexed gives each pod a number, and knows which have succeeded", async () => {
    await make("numbered", { completionMode: "Indexed", completions: 5, parallelism: 5 });
    const pods = await activeOf("numbered");
    const indexOf = ({ metadata }: any) => Number(metadata.annotations["batch.kubernetes.io/job-completion-index"]);
    const sorted = pods.toSorted((a, b) => indexOf(a) - indexOf(b));
    expect(sorted.map(indexOf)).toEqual([0, 1, 2, 3, 4]);
    expect(sorted[3].metadata.name).toMatch(/^numbered-3-[a-z0-9]{5}$/);
    expect(sorted[3].spec).toMatchObject({
      hostname: "numbered-3",
      containers: [{ env: [{ name: "JOB_COMPLETION_INDEX" }] }],
    });
    for (const at of [0, 2, 3]) await end(sorted[at], "Succeeded");
    expect((await jobOf("numbered")).status).toMatchObject({ succeeded: 3, completedIndexes: "0,2,3" });
    for (const at of [1, 4]) await end(sorted[at], "Succeeded");
    const { status } = await jobOf("numbered");
    expect(status).toMatchObject({ succeeded: 5, completedIndexes: "0-4" });
    expect(conditionsOf({ status })).toContain("Complete CompletionsReached");
  });

  test("fails at once, ignores or counts failures as its policy says", async () => {
    const on = (action: string, ...values: number[]) => ({ action, onExitCodes: { operator: "In", values } });
    const rules = [on("Ignore", 3), on("FailJob", 42), { action: "Ignore", onPodConditions: [{ type: "Evicted" }] }];
    await make("ruled", { backoffLimit: 0, podFailurePolicy: { rules } });
    const [first] = await activeOf("ruled");
    await end(first, "Failed", ended(60, 3));
    const [second] = await activeOf("ruled");
    const evicted = { type: "Evicted", status: "True" };
    await end(second, "Failed", { ...ended(60, 1), conditions: [evicted] });
    const [third] = await activeOf("ruled");
    expect((await jobOf("ruled")).status.failed).toBeUndefined();
    await end(third, "Failed", ended(60, 42));
    const { status } = await jobOf("ruled");
    expect(status).toMatchObject({ failed: 1 });
    expect(conditionsOf({ status })).toEqual(["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"]);
    const message = `Container a for pod default/${third.metadata.name} failed with exit code 42 matching FailJob rule at index 1`;
    expect(status.conditions[1].message).toBe(message);
  });

  test("with a limit for each index replaces failed pods of an index until it is given up", async () => {
    await make("each", { completionMode: "Indexed", completions: 2, parallelism: 2, backoffLimitPerIndex: 1 });
    expect((await jobOf("each")).spec.backoffLimit).toBe(2_147_483_647);
    const failuresOf = ({ metadata }: any) => metadata.annotations["batch.kubernetes.io/job-index-failure-count"];
    const podOf = async (index: number) =>
      (await activeOf("each")).find((pod) => pod.spec.hostname === `each-${index}`);
    const first = await podOf(0);
    expect(failuresOf(first)).toBe("0");
    await end(first, "Failed");
    // It is held until another has its count, which has to wait.
    const held = await send("GET", `${PODS}/${first.metadata.name}`);
    expect(held.metadata.finalizers).toEqual(["batch.kubernetes.io/job-tracking"]);
    expect((await jobOf("each")).status).toMatchObject({ active: 1, failedIndexes: "" });
    await end(held, "Failed", ended(60));
    const second = await podOf(0);
    expect(failuresOf(second)).toBe("1");
    expect((await jobOf("each")).status).toMatchObject({ active: 2, failed: 1, failedIndexes: "" });
    await end(second, "Failed", ended(60));
    expect((await jobOf("each")).status).toMatchObject({ active: 1, failed: 2, failedIndexes: "0" });
    await end(await podOf(1), "Succeeded");
    const { status } = await jobOf("each");
    expect(status).toMatchObject({ succeeded: 1, failed: 2, completedIndexes: "1", failedIndexes: "0" });
    expect(conditionsOf({ status })).toEqual(["FailureTarget FailedIndexes", "Failed FailedIndexes"]);
    expect((await podsOf("each")).every(({ metadata }) => metadata.finalizers === undefined)).toBe(true);
  });

  test("gives an index up where its policy says so, and fails when that are too many", async () => {
    const rules = [{ action: "FailIndex", onExitCodes: { operator: "NotIn", values: [1] } }];
    const indexed = { completionMode: "Indexed", completions: 3, parallelism: 3 };
    await make("given", { ...indexed, backoffLimitPerIndex: 5, maxFailedIndexes: 0, podFailurePolicy: { rules } });
    const [pod] = await activeOf("given");
    await end(pod, "Failed", ended(60, 7));
    expect(conditionsOf(await jobOf("given"))).toEqual([
      "FailureTarget MaxFailedIndexesExceeded",
      "Failed MaxFailedIndexesExceeded",
    ]);
    expect(await activeOf("given")).toEqual([]);
  });

  test("that fails by one index does not give up the indexes of its other pods", async () => {
    const indexed = { completionMode: "Indexed", completions: 3, parallelism: 2 };
    await make("first", { ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 0 });
    await end(
      (await activeOf("first")).find((pod) => pod.spec.hostname === "first-1"),
      "Failed",
    );
    const { status } = await jobOf("first");
    expect(conditionsOf({ status })).toContain("Failed MaxFailedIndexesExceeded");
    expect(status).toMatchObject({ failed: 2, failedIndexes: "1" });
  });

  test("succeeds when a rule says so, and its other pods do not count as failed", async () => {
    const rules = [{ succeededCount: 3 }, { succeededIndexes: "0,2", succeededCount: 1 }];
    await make("enough", { completionMode: "Indexed", completions: 4, parallelism: 4, successPolicy: { rules } });
    const podOf = async (index: number) =>
      (await activeOf("enough")).find((pod) => pod.spec.hostname === `enough-${index}`);
    await end(await podOf(1), "Succeeded");
    expect(conditionsOf(await jobOf("enough"))).toEqual([]);
    await end(await podOf(2), "Succeeded");
    const { status } = await jobOf("enough");
    expect(conditionsOf({ status })).toEqual(["SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"]);
    expect(status.conditions[1].message).toBe("Matched rules at index 1");
    expect(status).toMatchObject({ succeeded: 2, completedIndexes: "1,2" });
    expect(status.failed).toBeUndefined();
    expect(await activeOf("enough")).toEqual([]);
  });

  test("lets go of its pods when it is deleted", async () => {
    await make("gone", { parallelism: 2, completions: 2 });
    await send("DELETE", `${JOBS}/gone?propagationPolicy=Background`);
    expect(await podsOf("gone")).toEqual([]);
  });

  test("of another controller is left alone", async () => {
    await make("theirs", { managedBy: "example.com/queue" });
    expect(await podsOf("theirs")).toEqual([]);
  });

  test("goes when its time after the end is over", async () => {
    await make("short", { ttlSecondsAfterFinished: 0 });
    await end((await podsOf("short"))[0], "Succeeded");
    expect((await cluster.send({ method: "GET", path: `${JOBS}/short` })).status).toBe(404);
  });

  test("fails when it has been active for too long", async () => {
    await make("late", { activeDeadlineSeconds: 1 });
    await expect
      .poll(async () => conditionsOf(await jobOf("late")), { timeout: 20_000 })
      .toEqual(["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"]);
    expect(await podsOf("late")).toEqual([]);
  });
});
