// Values that the chart refuses before a server does, by a real helm.

import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { describe, expect, it } from "vitest";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { succeed, tool } from "./testing/postern-process.ts";

const CHART = new URL("../../deploy/charts/postern", import.meta.url).pathname;

describe("helm", () => {
  const render = async (...values: string[]) => {
    const { helm } = await kubernetesTools("1.35");
    return await tool(helm, ["template", "own", CHART, ...values]);
  };

  it.each([
    ["an option that does not exist", "config.nope=1"],
    ["a misspelt key inside", "config.platform.domian=x"],
    ["a key of the wrong level", "config.domain=x"],
    ["another case", "config.dataDIR=x"],
    ["a flag with dashes in front", "config.--data-dir=x"],
    ["an option that the command has, and the file has not", "config.config=x"],
  ])("refuses %s", async (_, value) => {
    const { code, stderr } = await render(`--set=${value}`);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/additional properties .*not allowed/i)]);
  });

  it.each([
    "config.platform.domain=example.com",
    "config.log-level=debug",
    "config.audit-log-maxsize=200",
    "replicas=1",
  ])("takes %s", async (value) => expect(await render(`--set=${value}`)).toMatchObject({ code: 0, stderr: "" }));

  it.each(["2", "3"])("refuses %s servers on SQLite with a sentence", async (replicas) => {
    const { code, stderr } = await render(`--set=replicas=${replicas}`);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `replicas is ${replicas}, and a SQLite store has one server: leave replicas out, or set store.type to etcd`,
    );
  });

  it("registers the management API in the cluster, with the CA of its kube-apiserver", async () => {
    const pem = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----`;
    const set = [
      "--set=aggregatedApi.enabled=true,aggregatedApi.allowedNames={front-proxy-client,aggregator}",
      "--set=config.platform.domain=example.com,service.port=8443",
      `--set=aggregatedApi.clientCA=${pem("clients")}`,
    ];
    const text = await succeed(render(...set, `--set=aggregatedApi.caBundle=${pem("server")}`));
    const objects = text.split(/^---$/m).map((one) => decodeYaml(one).value as any);
    const services = objects.filter((one) => one?.kind === "APIService");
    expect(services.map(({ metadata }) => metadata.name)).toEqual([
      "v1.management.example.com",
      "v1.storage.example.com",
    ]);
    expect(services[0].spec).toMatchObject({
      group: "management.example.com",
      service: { name: "own", port: 8443 },
      caBundle: Buffer.from(pem("server")).toString("base64"),
    });
    const caBundle = `--set=aggregatedApi.caBundle=${pem("server")}`;
    const more = await succeed(render(...set, caBundle, "--set=aggregatedApi.clusterProfiles=true"));
    expect(more).toContain("name: v1alpha1.multicluster.x-k8s.io");
    const { data } = objects.find((one) => one?.kind === "ConfigMap");
    expect(data["requestheader-ca.crt"].trim()).toBe(pem("clients"));
    expect(decodeYaml(data["postern.yaml"]).value).toMatchObject({
      frontProxy: { clientCAFile: "/config/requestheader-ca.crt", allowedNames: ["front-proxy-client", "aggregator"] },
    });
    expect(await render(...set)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("aggregatedApi.caBundle is empty"),
    });
    const without = await render("--set=aggregatedApi.enabled=true", `--set=aggregatedApi.caBundle=${pem("server")}`);
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("aggregatedApi.clientCA is empty") });
  });

  it("runs two servers on etcd, unless values say otherwise", async () => {
    const etcd = ["--set=store.type=etcd,store.etcd.endpoints={etcd:2379},store.etcd.identitySecret=identity"];
    const common = [...etcd, "--set=externalHostname=a.example.com,tls.secret=serving"];
    const replicas = async (...more: string[]) =>
      /^ {2}replicas: (\d)$/m.exec(await succeed(render(...common, ...more)))?.[1];
    expect(await replicas()).toBe("2");
    expect(await replicas("--set=replicas=3")).toBe("3");
    expect(await replicas("--set=replicas=1")).toBe("1");
  });
});
