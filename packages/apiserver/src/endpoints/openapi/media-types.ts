// The media types that operations consume and produce.

export const OBJECT_MEDIA_TYPES: readonly string[] = ["application/json", "application/yaml"];

const PATCH_MEDIA_TYPES: readonly string[] = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
];

/** kubectl falls back to a JSON merge patch where a strategic one is not listed. */
export const patchMediaTypes = (strategic: boolean): readonly string[] =>
  strategic ? [...PATCH_MEDIA_TYPES, "application/strategic-merge-patch+json"] : PATCH_MEDIA_TYPES;

const STATUS_TEXTS: ReadonlyMap<number, string> = new Map([
  [200, "OK"],
  [201, "Created"],
  [202, "Accepted"],
  [401, "Unauthorized"],
]);

/** Description of a status code in documents: its name. */
export const responseText = (code: number): string => STATUS_TEXTS.get(code) ?? "";
