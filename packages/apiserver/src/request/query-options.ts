// Decodes the query of a request into the options of its verb, without validation.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/zz_generated.conversion.go (Convert_url_Values_To_…)

import type { ListOptions } from "@postern/apimachinery/validation/list-options";
import type {
  CreateOptions,
  DeleteOptions,
  PatchOptions,
  UpdateOptions,
} from "@postern/apimachinery/validation/request-options";
import { optionalQueryBoolean, optionalQueryInteger, optionalQueryText } from "./query-values.ts";

/** All of these throw ApiError 400 for invalid numbers; the first value of a repeated parameter counts. */
export const listOptionsOf = (query: URLSearchParams): ListOptions =>
  withoutAbsent({
    labelSelector: optionalQueryText(query, "labelSelector"),
    fieldSelector: optionalQueryText(query, "fieldSelector"),
    watch: optionalQueryBoolean(query, "watch"),
    allowWatchBookmarks: optionalQueryBoolean(query, "allowWatchBookmarks"),
    resourceVersion: optionalQueryText(query, "resourceVersion"),
    resourceVersionMatch: optionalQueryText(query, "resourceVersionMatch"),
    timeoutSeconds: optionalQueryInteger(query, "timeoutSeconds"),
    limit: optionalQueryInteger(query, "limit"),
    continue: optionalQueryText(query, "continue"),
    sendInitialEvents: optionalQueryBoolean(query, "sendInitialEvents"),
  });

export const createOptionsOf = (query: URLSearchParams): CreateOptions =>
  query.size === 0
    ? NO_OPTIONS
    : withoutAbsent({
        dryRun: dryRunIn(query),
        fieldManager: optionalQueryText(query, "fieldManager"),
        fieldValidation: optionalQueryText(query, "fieldValidation"),
      });

const NO_OPTIONS: CreateOptions = {};

/** Any entry in the list prevents the write; the validators check its value. */
export const isDryRun = ({ dryRun = [] }: Pick<CreateOptions, "dryRun">): boolean => dryRun.length > 0;

export const updateOptionsOf = (query: URLSearchParams): UpdateOptions => createOptionsOf(query);

export const patchOptionsOf = (query: URLSearchParams): PatchOptions => ({
  ...createOptionsOf(query),
  ...withoutAbsent({ force: optionalQueryBoolean(query, "force") }),
});

export function deleteOptionsOf(query: URLSearchParams): DeleteOptions {
  const [uid, resourceVersion] = [query.get("uid") ?? "", query.get("resourceVersion") ?? ""];
  const preconditions = {
    ...(uid === "" ? {} : { uid }),
    ...(resourceVersion === "" ? {} : { resourceVersion }),
  };
  return withoutAbsent({
    gracePeriodSeconds: optionalQueryInteger(query, "gracePeriodSeconds"),
    preconditions: uid === "" && resourceVersion === "" ? undefined : preconditions,
    orphanDependents: optionalQueryBoolean(query, "orphanDependents"),
    propagationPolicy: optionalQueryText(query, "propagationPolicy"),
    dryRun: dryRunIn(query),
    ignoreStoreReadErrorWithClusterBreakingPotential: optionalQueryBoolean(
      query,
      "ignoreStoreReadErrorWithClusterBreakingPotential",
    ),
  });
}

function dryRunIn(query: URLSearchParams): readonly string[] | undefined {
  const values = query.getAll("dryRun");
  return values.length === 0 ? undefined : values;
}

type WithoutAbsent<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function withoutAbsent<T extends object>(options: T): WithoutAbsent<T> {
  // Entries whose value is undefined are gone, which is all that the type says.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as WithoutAbsent<T>;
}
