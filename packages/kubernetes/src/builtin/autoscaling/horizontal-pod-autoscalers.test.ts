import { createSuiteClient, type SuiteClient } from "@postern/apiserver/registry/testing/suite-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSuiteSurface, type SuiteSurface } from "../../testing/suite-surface.ts";
import { scalerConversion } from "./convert-horizontal-pod-autoscaler.ts";
import { horizontalPodAutoscalers, horizontalPodAutoscalersV1 } from "./horizontal-pod-autoscalers.ts";
import { validateScaler } from "./validate-horizontal-pod-autoscaler.ts";

const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const scaler = (spec: object, rest: object = {}): any => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "web", namespace: "default" },
  spec: { scaleTargetRef, maxReplicas: 3, ...spec },
  ...rest,
});
const cpu = (target: object) => ({ type: "Resource", resource: { name: "cpu", target } });
const average = { type: "Utilization", averageUtilization: 60 };

/** As kube-apiserver v1.34 answers; the texts are those of pkg/apis/autoscaling/validation. */
describe("validation", () => {
  const object = {
    describedObject: { kind: "Ingress", name: "main" },
    metric: { name: "hits" },
    target: { type: "Value", value: "2k" },
  };
  const policy = { type: "Pods", value: 1, periodSeconds: 15 };
  it.each<[string, object, readonly string[]]>([
    ["nothing of a plain one", {}, []],
    ["nothing of all sources", { metrics: [cpu(average), { type: "Object", object }] }, []],
    ["minReplicas", { minReplicas: 0 }, ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"]],
    ["maxReplicas", { maxReplicas: 0 }, ["spec.maxReplicas: Required value: must be set and greater than 0"]],
    [
      "both",
      { minReplicas: 4 },
      ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
    ],
    [
      "the reference",
      { scaleTargetRef: { apiVersion: "apps/v1", kind: "", name: "a/b" } },
      [
        "spec.scaleTargetRef.kind: Required value",
        "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
      ],
    ],
    [
      "an unknown type",
      { metrics: [{ type: "Memory" }] },
      [
        'spec.metrics[0].type: Unsupported value: "Memory": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      ],
    ],
    [
      "a source that is missing, and another one that is there",
      { metrics: [{ type: "Pods", object }] },
      [
        "spec.metrics[0].pods: Required value: must populate information for the given metric source",
        // One source alone is not forbidden, whatever the type.
      ],
    ],
    [
      "two sources",
      { metrics: [{ ...cpu(average), object }] },
      ["spec.metrics[0].object: Forbidden: must populate the given metric source only"],
    ],
    [
      "a target without an amount",
      { metrics: [cpu({ type: "Utilization" })] },
      [
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
      ],
    ],
    [
      "both amounts",
      { metrics: [cpu({ ...average, averageValue: "1" })] },
      [
        "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
      ],
    ],
    [
      "amounts that are not positive, and a type that there is not",
      { metrics: [{ type: "Object", object: { ...object, target: { type: "Most", value: "0" } } }] },
      [
        'spec.metrics[0].object.target.type: Invalid value: "Most": must be either Utilization, Value, or AverageValue',
        'spec.metrics[0].object.target.value: Invalid value: "0": must be positive',
      ],
    ],
    [
      "the container",
      { metrics: [{ type: "ContainerResource", containerResource: { name: "cpu", container: "", target: average } }] },
      ["spec.metrics[0].containerResource.container: Required value: must specify a container"],
    ],
    [
      "rules",
      {
        behavior: {
          scaleUp: { stabilizationWindowSeconds: 3601, selectPolicy: "Most", policies: [{ ...policy, value: 0 }] },
          scaleDown: { policies: [{ ...policy, type: "Nodes", periodSeconds: 1801 }], tolerance: "-0.1" },
        },
      },
      [
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
        'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Most": supported values: "Disabled", "Max", "Min"',
        "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
        'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"',
        "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        'spec.behavior.scaleDown.tolerance: Invalid value: "-0.1": must be greater than or equal to 0',
      ],
    ],
    [
      "rules without policies",
      { behavior: { scaleUp: { policies: [] } } },
      ["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"],
    ],
  ])("refuses %s", (_, spec, expected) => {
    expect(validateScaler(scaler(spec)).map(({ field, message }) => `${field}: ${message}`)).toEqual(expected);
  });
});

describe("conversion", () => {
  const v1 = (spec: object, annotations?: object): any => ({
    ...scaler(spec),
    apiVersion: "autoscaling/v1",
    metadata: { name: "web", namespace: "default", ...(annotations === undefined ? {} : { annotations }) },
  });

  it("keeps the average utilization of CPU in the field of v1, and all other metrics in an annotation", () => {
    const memory = {
      type: "Resource",
      resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } },
    };
    const queue = {
      type: "External",
      external: {
        metric: { name: "queue", selector: { matchLabels: { q: "a" } } },
        target: { type: "AverageValue", averageValue: "30" },
      },
    };
    const shown = scalerConversion.toServed(scaler({ minReplicas: 2, metrics: [cpu(average), memory, queue] })) as any;
    expect(shown.spec).toEqual({ scaleTargetRef, minReplicas: 2, maxReplicas: 3, targetCPUUtilizationPercentage: 60 });
    expect(shown.metadata.annotations).toEqual({
      "autoscaling.alpha.kubernetes.io/metrics":
        '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},{"type":"External","external":{"metricName":"queue","metricSelector":{"matchLabels":{"q":"a"}},"targetAverageValue":"30"}}]',
    });
    expect(shown.status).toEqual({ currentReplicas: 0, desiredReplicas: 0 });
    // As upstream, CPU comes last where v1 writes.
    expect((scalerConversion.toStored(shown) as any).spec.metrics).toEqual([memory, queue, cpu(average)]);
    expect((scalerConversion.toStored(shown) as any).metadata.annotations).toBeUndefined();
  });

  it("brings behavior, conditions and current metrics there and back", () => {
    const behavior = { scaleDown: { selectPolicy: "Max", policies: [{ type: "Pods", value: 1, periodSeconds: 15 }] } };
    const status = {
      currentReplicas: 2,
      desiredReplicas: 3,
      currentMetrics: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 70, averageValue: "7m" } } },
      ],
      conditions: [{ type: "AbleToScale", status: "True", reason: "r", message: "m" }],
    };
    const stored = scaler({ metrics: [cpu(average)], behavior }, { status });
    const shown = scalerConversion.toServed(stored) as any;
    expect(shown.status).toEqual({ currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 70 });
    expect(shown.metadata.annotations).toMatchObject({
      "autoscaling.alpha.kubernetes.io/behavior":
        '{"scaleDown":{"selectPolicy":"Max","policies":[{"type":"Pods","value":1,"periodSeconds":15}]}}',
      "autoscaling.alpha.kubernetes.io/current-metrics":
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":70,"currentAverageValue":"7m"}}]',
    });
    expect(scalerConversion.toStored(shown)).toEqual(stored);
  });

  it.each([
    ["its default, where v1 names no metric", v1({}), [cpu({ type: "Utilization", averageUtilization: 80 })]],
    [
      "what cannot be read left out",
      v1({}, { "autoscaling.alpha.kubernetes.io/metrics": "[{" }),
      [cpu({ type: "Utilization", averageUtilization: 80 })],
    ],
    [
      "metrics of objects and pods",
      v1(
        {},
        {
          "autoscaling.alpha.kubernetes.io/metrics": JSON.stringify([
            {
              type: "Object",
              object: { target: { kind: "Ingress", name: "i" }, metricName: "hits", targetValue: "2" },
            },
            { type: "Pods", pods: { metricName: "lag", targetAverageValue: "5" } },
          ]),
        },
      ),
      [
        {
          type: "Object",
          object: {
            describedObject: { kind: "Ingress", name: "i" },
            metric: { name: "hits" },
            target: { type: "Value", value: "2" },
          },
        },
        { type: "Pods", pods: { metric: { name: "lag" }, target: { type: "AverageValue", averageValue: "5" } } },
      ],
    ],
  ])("reads from v1 %s", (_, object, metrics) => {
    expect((scalerConversion.toStored(object) as any).spec.metrics).toEqual(metrics);
  });
});

describe("the two versions", () => {
  let surface: SuiteSurface;
  let v1: SuiteClient;
  let v2: SuiteClient;
  beforeAll(async () => {
    surface = await openSuiteSurface([horizontalPodAutoscalers, horizontalPodAutoscalersV1]);
    v1 = createSuiteClient(surface.route, horizontalPodAutoscalersV1, "default");
    v2 = createSuiteClient(surface.route, horizontalPodAutoscalers, "default");
  });
  afterAll(() => surface[Symbol.asyncDispose]());
  const inV1 = (spec: object, name = "web") => ({
    ...scaler(spec),
    apiVersion: "autoscaling/v1",
    metadata: { name },
  });

  it("show one object, with the defaults of v2", async () => {
    const made = await v1.send("POST", "", inV1({ targetCPUUtilizationPercentage: 50 }));
    expect(made.status).toBe(201);
    expect(made.json.spec).toEqual({
      scaleTargetRef,
      minReplicas: 1,
      maxReplicas: 3,
      targetCPUUtilizationPercentage: 50,
    });
    const shown = await v2.send("GET", "/web");
    expect(shown.json).toMatchObject({ apiVersion: "autoscaling/v2", metadata: { uid: made.json.metadata.uid } });
    expect(shown.json.spec.metrics).toEqual([cpu({ type: "Utilization", averageUtilization: 50 })]);
    const change = { spec: { behavior: { scaleUp: { selectPolicy: "Min" } } } };
    const changed = await v2.send("PATCH", "/web", change, { contentType: "application/merge-patch+json" });
    expect(changed.json.spec.behavior).toEqual({
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: "Min",
        policies: [
          { type: "Pods", value: 4, periodSeconds: 15 },
          { type: "Percent", value: 100, periodSeconds: 15 },
        ],
      },
      scaleDown: { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
    });
    const older = await v1.send("GET", "/web");
    expect(older.json.metadata.annotations["autoscaling.alpha.kubernetes.io/behavior"]).toContain(
      '"selectPolicy":"Min"',
    );
    // Fields that v1 does not touch stay in v2.
    const replaced = { ...older.json, spec: { ...older.json.spec, maxReplicas: 7 } };
    expect((await v1.send("PUT", "/web", replaced)).status).toBe(200);
    const { spec } = (await v2.send("GET", "/web")).json;
    expect(spec).toMatchObject({ maxReplicas: 7, behavior: { scaleUp: { selectPolicy: "Min" } } });
  });

  it("check what v1 writes as v2 is checked", async () => {
    const refused = await v1.send("POST", "", inV1({ minReplicas: 9 }, "bad"));
    expect([refused.status, refused.json.message]).toEqual([
      422,
      expect.stringContaining("must be greater than or equal to `minReplicas`"),
    ]);
  });

  it("take a status that comes without a spec", async () => {
    await v2.send("POST", "", { ...scaler({}), metadata: { name: "observed" } });
    for (const [client, apiVersion, desiredReplicas] of [
      [v1, "autoscaling/v1", 2],
      [v2, "autoscaling/v2", 3],
    ] as const) {
      const body = { ...scaler({}), apiVersion, metadata: { name: "observed" }, status: { desiredReplicas } };
      const { spec: _, ...bare } = body;
      expect((await client.send("PUT", "/observed/status", bare)).status).toBe(200);
      expect((await v2.send("GET", "/observed")).json).toMatchObject({
        spec: { maxReplicas: 3, metrics: [cpu({ type: "Utilization", averageUtilization: 80 })] },
        status: { desiredReplicas },
      });
    }
  });

  it("keep the field manager of the one field that has another name", async () => {
    const apply = { contentType: "application/apply-patch+yaml" };
    const path = "/owned?fieldManager=shop";
    const body = inV1({ targetCPUUtilizationPercentage: 50 }, "owned");
    expect((await v1.send("PATCH", path, body, apply)).status).toBe(201);
    const owned = (await v2.send("GET", "/owned")).json.metadata.managedFields[0];
    expect(owned).toMatchObject({ manager: "shop", fieldsV1: { "f:spec": { "f:metrics": {} } } });
    const conflict = await v1.send(
      "PATCH",
      "/owned?fieldManager=other",
      inV1({ targetCPUUtilizationPercentage: 70 }, "owned"),
      apply,
    );
    expect([conflict.status, conflict.json.message]).toEqual([
      409,
      expect.stringContaining(".spec.targetCPUUtilizationPercentage"),
    ]);
  });
});
