// The link to the form for a new object.

import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMaySomewhere } from "../api/use-may.ts";

const NONE: readonly string[] = [];

/** Hidden without permission to create one. `namespaces`: permission in one of them is enough. */
export function NewObjectLink(props: {
  readonly to: string;
  /** Default: the group of the management API. */
  readonly group?: string;
  readonly resource: string;
  readonly label: string;
  readonly namespaces?: readonly string[];
}) {
  const { to, group, resource, label, namespaces = NONE } = props;
  const right = useMaySomewhere({ verb: "create", resource, ...(group === undefined ? {} : { group }) }, namespaces);
  if (!right.isAllowed) return null;
  return (
    <Link to={to} className="button primary">
      <Plus aria-hidden="true" />
      {label}
    </Link>
  );
}
