// CronJobs of a cluster whose workloads are controlled. A test writes when a CronJob ran last: what it missed since then is due at once.

import { describe, expect, test } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";
import { MOST_ACTIVE } from "./cron-job-controller.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });

const BATCH = "/apis/batch/v1/namespaces/default";
const PODS = "/api/v1/namespaces/default/pods";
const NEW_YEAR = `${new Date().getUTCFullYear()}-01-01T00:00:00Z`;
const NAME_OF_NEW_YEAR = Date.parse(NEW_YEAR) / 60_000;

const { send, settled } = controlledClient(cluster);
const template = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "i" }] } };
const cronJob = (name: string) => send("GET", `${BATCH}/cronjobs/${name}`);
const jobsOf = async (name: string) =>
  ((await send("GET", `${BATCH}/jobs`)).items as any[]).filter(({ metadata }) =>
    metadata.ownerReferences?.some((owner: any) => owner.kind === "CronJob" && owner.name === name),
  );
const change = (name: string, spec: object) => send("PATCH", `${BATCH}/cronjobs/${name}`, { spec });

/** Each year at its beginning: one time is due, however long the test takes. */
async function make(name: string, spec: object = {}, jobSpec: object = {}, lastScheduleTime = "2020-06-01T00:00:00Z") {
  await send("POST", `${BATCH}/cronjobs`, {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name },
    spec: {
      schedule: "@yearly",
      jobTemplate: { metadata: { labels: { from: name } }, spec: { template, ...jobSpec } },
      ...spec,
    },
  });
  await send("PATCH", `${BATCH}/cronjobs/${name}/status`, { status: { lastScheduleTime } });
}
async function finish(name: string, phase = "Succeeded") {
  const pods = (await send("GET", `${PODS}?labelSelector=job-name%3D${name}`)).items as any[];
  for (const pod of pods)
    await send("PUT", `${PODS}/${pod.metadata.name}/status`, { ...pod, status: { ...pod.status, phase } });
}

describe("a CronJob", () => {
  test("says so in an Event if its schedule names a day that no month has", async () => {
    await make("never", { schedule: "59 23 31 2 *" });
    const path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dnever";
    const first = async () => (await send("GET", path)).items[0];
    await expect.poll(first).toMatchObject({
      type: "Warning",
      reason: "InvalidSchedule",
      message: "invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second",
    });
    expect(await jobsOf("never")).toEqual([]);
  });

  test("creates the Job of the last time that it missed, and knows it until it ends", async () => {
    await make("yearly");
    const [job, ...others] = await jobsOf("yearly");
    expect(others).toEqual([]);
    expect(job.metadata).toMatchObject({
      name: `yearly-${NAME_OF_NEW_YEAR}`,
      labels: { from: "yearly" },
      annotations: { "batch.kubernetes.io/cronjob-scheduled-timestamp": NEW_YEAR },
      ownerReferences: [{ kind: "CronJob", name: "yearly", controller: true }],
    });
    const { status } = await cronJob("yearly");
    expect(status).toMatchObject({ lastScheduleTime: NEW_YEAR, active: [{ kind: "Job", uid: job.metadata.uid }] });
    await finish(job.metadata.name);
    const later = await cronJob("yearly");
    expect(later.status.active ?? []).toEqual([]);
    expect(later.status.lastSuccessfulTime).toEqual((await jobsOf("yearly"))[0].status.completionTime);
  });

  test("that forbids it starts no second Job", async () => {
    await make("forbids", { concurrencyPolicy: "Forbid" });
    await change("forbids", { schedule: "0 0 2 1 *" });
    expect(await jobsOf("forbids")).toHaveLength(1);
  });

  test("that allows it starts as many as are due", async () => {
    await make("allows");
    await change("allows", { schedule: "0 0 2 1 *" });
    expect(await jobsOf("allows")).toHaveLength(2);
    expect((await cronJob("allows")).status.active).toHaveLength(2);
  });

  test("that replaces deletes the Job before it starts another", async () => {
    await make("replaces", { concurrencyPolicy: "Replace" });
    await change("replaces", { schedule: "0 0 2 1 *" });
    expect((await jobsOf("replaces")).map(({ metadata }) => metadata.name)).toEqual([
      `replaces-${NAME_OF_NEW_YEAR + 24 * 60}`,
    ]);
  });

  test("that is suspended starts nothing until it goes on", async () => {
    await make("rests", { suspend: true });
    expect(await jobsOf("rests")).toEqual([]);
    await change("rests", { suspend: false });
    expect(await jobsOf("rests")).toHaveLength(1);
  });

  test("starts nothing that it may not start so late", async () => {
    await make("strict", { startingDeadlineSeconds: 60 });
    expect(await jobsOf("strict")).toEqual([]);
  });

  test("forgets a Job that was deleted", async () => {
    await make("missing");
    await send("DELETE", `${BATCH}/jobs/missing-${NAME_OF_NEW_YEAR}?propagationPolicy=Background`);
    expect((await cronJob("missing")).status.active ?? []).toEqual([]);
    expect(await jobsOf("missing")).toEqual([]);
  });

  test("keeps as many finished Jobs as it says", async () => {
    await make("short", { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 1 });
    await finish(`short-${NAME_OF_NEW_YEAR}`);
    expect(await jobsOf("short")).toEqual([]);
  });

  test("takes its Jobs and their pods with it", async () => {
    await make("gone");
    await send("DELETE", `${BATCH}/cronjobs/gone?propagationPolicy=Background`);
    expect(await jobsOf("gone")).toEqual([]);
    expect((await send("GET", `${PODS}?labelSelector=job-name%3Dgone-${NAME_OF_NEW_YEAR}`)).items).toEqual([]);
  });

  test("says the time in its zone", async () => {
    await make("zone", { timeZone: "Asia/Kolkata" });
    const [{ metadata }] = await jobsOf("zone");
    expect(metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]).toBe(
      NEW_YEAR.replace("Z", "+05:30"),
    );
  });

  test("whose Jobs are refused tries again later, and does not write meanwhile", async () => {
    const hard = { "count/jobs.batch": "0" };
    await send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "full" } });
    await send("POST", "/api/v1/namespaces/full/resourcequotas", {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard },
    });
    const path = "/apis/batch/v1/namespaces/full/cronjobs";
    const spec = { schedule: "@yearly", jobTemplate: { spec: { template } } };
    await send("POST", path, { apiVersion: "batch/v1", kind: "CronJob", metadata: { name: "refused" }, spec });
    const status = { lastScheduleTime: "2020-06-01T00:00:00Z" };
    const { metadata } = await send("PATCH", `${path}/refused/status`, { status });
    for (let round = 0; round < 10; round++) await settled();
    const failures = async (): Promise<readonly string[]> => {
      const events = (await send("GET", "/api/v1/namespaces/full/events")).items as any[];
      return events.filter(({ reason }) => reason === "FailedCreate").map(({ message }) => message);
    };
    await expect.poll(async () => (await failures())[0]).toContain("exceeded quota: q");
    expect((await failures()).length).toBeLessThan(8);
    expect((await send("GET", `${path}/refused`)).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test("starts no more where very many of its Jobs have not finished", async () => {
    await make("piles", { suspend: true }, { suspend: true });
    const { metadata } = await cronJob("piles");
    const owner = { apiVersion: "batch/v1", kind: "CronJob", name: "piles", uid: metadata.uid, controller: true };
    const active: object[] = [];
    for (let at = 0; at < MOST_ACTIVE; at++) {
      const job = {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: `piles-x${at}`, ownerReferences: [owner] },
        spec: { suspend: true, template },
      };
      const { json } = await cluster.send({ method: "POST", path: `${BATCH}/jobs`, json: job });
      active.push({ apiVersion: "batch/v1", kind: "Job", name: json.metadata.name, uid: json.metadata.uid });
    }
    await send("PATCH", `${BATCH}/cronjobs/piles/status`, { status: { active } });
    await change("piles", { suspend: false });
    expect(await jobsOf("piles")).toHaveLength(MOST_ACTIVE);
    await send("DELETE", `${BATCH}/jobs/piles-x0?propagationPolicy=Background`);
    expect((await jobsOf("piles")).map((job) => job.metadata.name)).toContain(`piles-${NAME_OF_NEW_YEAR}`);
  });
});
