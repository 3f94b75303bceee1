// Reads the bootstrap manifests: all of them before any is applied.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { splitYaml } from "@postern/apimachinery/yaml/split-yaml";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";
import { systemErrorCode } from "../foundation/pki/private-file.ts";

export type Manifest = {
  /** Such as `users.yaml, document 2 (line 14)`. */
  readonly place: string;
  readonly object: KubeObject;
};

const MANIFEST_FILE = /^[^.].*\.(?:ya?ml|json)$/;
/** Further errors are left out: the first ones are corrected first. */
const NAMED_FAULTS = 10;

/**
 * The documents of all files of a directory that end in .yaml, .yml or .json, in the order of their names; Lists are taken apart.
 * Throws ConfigurationError that names file, document and fault.
 */
export async function readManifests(directory: string): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  const faults: string[] = [];
  for (const name of await manifestFiles(directory)) {
    const text = await readText(join(directory, name));
    for (const [at, document] of splitYaml(text).entries()) {
      const place = `${name}, document ${at + 1} (line ${document.line})`;
      try {
        const { value, duplicates } = decodeYaml(document.text);
        if (duplicates.length > 0) faults.push(`${place}: ${duplicates.join(", ")}`);
        else for (const [itemPlace, item] of itemsOf(value, place)) manifests.push(manifestOf(item, itemPlace));
      } catch (error) {
        if (!(error instanceof YamlError) && !(error instanceof ManifestFault)) throw error;
        faults.push(error instanceof ManifestFault ? error.message : `${place}: ${error.message}`);
      }
    }
  }
  if (faults.length > 0) throw manifestError(directory, faults);
  return manifests;
}

/** All faults in one line. */
export function manifestError(directory: string, faults: readonly string[]): ConfigurationError {
  const more = faults.length > NAMED_FAULTS ? `; and ${faults.length - NAMED_FAULTS} more` : "";
  const named = faults.slice(0, NAMED_FAULTS).join("; ");
  return new ConfigurationError(`the bootstrap manifests in ${directory} cannot be applied: ${named}${more}`);
}

class ManifestFault extends Error {
  override readonly name = "ManifestFault";
}

/** Names in a mounted ConfigMap are links, to files beside what Kubernetes hides behind dots. */
async function manifestFiles(directory: string): Promise<readonly string[]> {
  try {
    const names = (await readdir(directory)).filter((name) => MANIFEST_FILE.test(name)).sort();
    const kinds = await Promise.all(names.map((name) => stat(join(directory, name))));
    return names.filter((_, at) => kinds[at]?.isFile() === true);
  } catch (error) {
    throw unreadable(directory, error);
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw unreadable(path, error);
  }
}

const unreadable = (path: string, error: unknown): ConfigurationError =>
  new ConfigurationError(
    `${path} cannot be read (${systemErrorCode(error) ?? "unknown error"}): correct --bootstrap-dir, or make it readable by the user that runs the server`,
    { cause: error },
  );

function itemsOf(value: JsonValue, place: string): readonly (readonly [place: string, item: JsonValue])[] {
  const items = isJsonObject(value) && value["kind"] === "List" ? value["items"] : undefined;
  if (items === undefined) return [[place, value]];
  if (!isJsonArray(items)) throw new ManifestFault(`${place}: items: must be a list`);
  return items.map((item, at) => [`${place}, item ${at + 1}`, item] as const);
}

function manifestOf(value: JsonValue, place: string): Manifest {
  const fault = (text: string): ManifestFault => new ManifestFault(`${place}: ${text}`);
  if (!isJsonObject(value)) throw fault("must be an object with apiVersion, kind and metadata");
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || apiVersion === "") throw fault("apiVersion: required");
  if (typeof kind !== "string" || kind === "") throw fault("kind: required");
  if (!isJsonObject(metadata)) throw fault("metadata: required");
  const { name, namespace = "" } = metadata;
  if (typeof name !== "string" || name === "") {
    throw fault("metadata.name: required: a generated name would create another object at each start");
  }
  if (typeof namespace !== "string") throw fault("metadata.namespace: must be a string");
  // Everything else of it is checked by the API.
  return { place, object: { ...value, apiVersion, kind, metadata: metadata as KubeObject["metadata"] } };
}
