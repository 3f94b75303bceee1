// Descriptions of the types of built-in kinds in OpenAPI documents: `kubectl explain` shows them. Schemas of built-in kinds have none.

import type { Descriptions } from "@postern/apimachinery/schema/openapi/openapi-v3";
import { descriptionTexts } from "./description-texts.ts";

let tables: ReadonlyMap<string, string> | undefined;

/** Those that kube-apiserver 1.36 publishes. `component`: the name of the type in documents, such as `io.k8s.api.core.v1.Pod`. */
export function publishedDescriptions(component: string): Descriptions | undefined {
  tables ??= new Map(
    descriptionTexts()
      .trim()
      .split(/\n(?! )/)
      .map((table) => [table.slice(0, table.indexOf("|")), table]),
  );
  const table = tables.get(component);
  if (table === undefined) return undefined;
  const [[, type = ""] = [], ...members] = table.split("\n").map(readLine);
  return { ...(type === "" ? {} : { type }), members: Object.fromEntries(members) };
}

function readLine(line: string): readonly [name: string, text: string] {
  const end = line.indexOf("|");
  return [line.slice(0, end).trim(), String(JSON.parse(`"${line.slice(end + 1)}"`))];
}
