// The link to the form for a new object.

import type { Project } from "@postern/api/project";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMaySomewhere } from "../../api/use-may.ts";

const NONE: readonly Project[] = [];

/** Hidden without permission to create one. `projects`: permission in one of them is enough. */
export function NewObjectLink(props: {
  readonly to: string;
  /** Default: the group of the management API. */
  readonly group?: string;
  readonly resource: string;
  readonly label: string;
  readonly projects?: readonly Project[];
}) {
  const { to, group, resource, label, projects = NONE } = props;
  const right = useMaySomewhere({ verb: "create", resource, ...(group === undefined ? {} : { group }) }, projects);
  if (!right.isAllowed) return null;
  return (
    <Link to={to} className="button primary">
      <Plus aria-hidden="true" />
      {label}
    </Link>
  );
}
