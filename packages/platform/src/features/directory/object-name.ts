// Names of User objects that come from an identity provider.

import { createHash } from "node:crypto";

/** A name for the object, derived from the display name. */
export function objectNameFor(title: string): string {
  const plain = title
    .slice(0, 50)
    .toLowerCase()
    .split(".")
    .map((part) =>
      part
        .split(/[^a-z0-9]/)
        .filter((word) => word !== "")
        .join("-"),
    )
    .filter((part) => part !== "")
    .join(".");
  if (plain === title) return plain;
  const digest = createHash("sha256").update(title).digest("hex").slice(0, 8);
  return plain === "" ? `scim-${digest}` : `${plain}-${digest}`;
}
