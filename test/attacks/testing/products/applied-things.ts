// Things in a tenant's cluster that several writers or versions share (see stored-things.ts).

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { ADMISSION, configMaps, DEFAULT, DEFINITIONS, ITEMS, open, range, type StoredThing } from "./stored-thing.ts";

export const SERVICES = `${DEFAULT}/services`;

/** With so many items in a list that is merged by keys. */
export const keyed = (size: number, name = "managed") => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: range(size).map((index) => ({ name: `p${index}`, port: index + 1, protocol: "TCP" })) },
});

export const APPLIED_THINGS: readonly StoredThing[] = [
  {
    name: "managers of one object with keyed items",
    place: "cluster",
    base: { count: 5, size: 20 },
    path: SERVICES,
    manager: (index) => `manager-${index}`,
    object: (_, size) => keyed(size),
  },
  {
    name: "objects with keyed items",
    place: "cluster",
    base: { count: 20, size: 50 },
    path: SERVICES,
    manager: () => "one",
    object: (index, size) => keyed(size, index === 0 ? "managed" : `managed-${index}`),
  },
  {
    name: "matching webhooks with conditions",
    place: "cluster",
    base: { count: 3, size: 5 },
    path: `${ADMISSION}/validatingwebhookconfigurations`,
    object: (index, size) => ({
      metadata: { name: `w${index}` },
      webhooks: range(size).map((number) => ({
        name: `w${number}.products.example`,
        clientConfig: { url: "https://127.0.0.1:1/" },
        rules: configMaps,
        // The last is false, so that each is evaluated and nothing is called.
        matchConditions: range(15).map((at) => ({
          name: `c${at}`,
          expression: at === 14 ? "false" : `object.metadata.name != 'n${at}'`,
        })),
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Ignore",
        timeoutSeconds: 1,
      })),
    }),
  },
  {
    name: "items of a definition with versions",
    place: "cluster",
    base: { count: 200, size: 5 },
    before: async (store, size) => {
      const version = (index: number) => ({
        ...definitionVersion(`v${index + 1}`, { type: "object", properties: { spec: open } }),
        storage: index === 0,
      });
      const manifest: any = definitionManifest(
        { group: "products.example", kind: "Columnar", plural: "columnars" },
        version(0),
      );
      const versions = range(Math.min(size, 20)).map(version);
      return await store(DEFINITIONS, { ...manifest, spec: { ...manifest.spec, versions } });
    },
    path: ITEMS,
    object: (index, size) => ({
      apiVersion: "products.example/v1",
      kind: "Columnar",
      metadata: { name: `i${index}` },
      spec: { a: range(size * 4).map((x) => ({ x })) },
    }),
  },
];
