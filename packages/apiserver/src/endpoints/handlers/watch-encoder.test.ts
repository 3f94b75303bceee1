import { describe, expect, it } from "vitest";
import { createWatchEncoder } from "./watch-encoder.ts";

const TABLE = { group: "meta.k8s.io", version: "v1", kind: "Table" };
const columns = [
  { name: "Target", type: "string", value: (object: any) => object.spec.target.name },
  { name: "Version", type: "string", value: ".metadata.resourceVersion" },
];

describe("a bookmark of a watch as a Table", () => {
  it.each([true, false])(
    "has empty cells, since columns read members that it does not have (initial: %s)",
    (isInitial) => {
      const context: any = { request: { query: new URLSearchParams() } };
      const definition: any = { group: "example.com", version: "v1", kind: "Widget", columns };
      const output: any = { format: "json", convert: TABLE };
      const encoder = createWatchEncoder(context, definition, output, {
        clock: { now: () => 0 } as any,
        eventLines: {} as any,
      });
      const { type, object } = JSON.parse(
        Buffer.from(isInitial ? encoder.initialEventsEnd("7") : encoder.bookmark("7")).toString(),
      );
      expect([type, object.metadata, object.rows[0].cells]).toEqual([
        "BOOKMARK",
        { resourceVersion: "7" },
        [null, null, null],
      ]);
      expect(object.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(["Name", "Target", "Version"]);
      const { metadata } = object.rows[0].object;
      expect(metadata.annotations).toEqual(isInitial ? { "k8s.io/initial-events-end": "true" } : undefined);
    },
  );
});
