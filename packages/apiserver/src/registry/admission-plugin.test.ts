import { expect, it } from "vitest";
import { type AdmissionAttributes, type AdmissionPlugin, admissionChain } from "./admission-plugin.ts";

const write = (group: string, plural: string) => ({ resource: { group, plural } }) as unknown as AdmissionAttributes;

it("a plugin that names a resource is asked about writes of that alone", async () => {
  const asked: string[] = [];
  const plugin = (name: string, resource?: AdmissionPlugin["resource"]): AdmissionPlugin => ({
    name,
    ...(resource === undefined ? {} : { resource }),
    admit({ object }) {
      asked.push(`${name} admits`);
      return object;
    },
    validate: () => void asked.push(`${name} validates`),
  });
  const chain = admissionChain([plugin("one", { group: "", resource: "secrets" }), plugin("all")]);
  const passes = async (attributes: AdmissionAttributes) => {
    await chain.admit(attributes);
    await chain.validate(attributes);
    return asked.splice(0);
  };
  expect(await passes(write("", "secrets"))).toEqual(["one admits", "all admits", "one validates", "all validates"]);
  for (const other of [write("example.com", "secrets"), write("", "configmaps")])
    expect(await passes(other)).toEqual(["all admits", "all validates"]);
});
