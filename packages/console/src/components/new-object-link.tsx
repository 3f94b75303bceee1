// The way to the form for a new object.

import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMay } from "../api/use-may.ts";

/** Left out where the person may not create one. */
export function NewObjectLink(props: { readonly to: string; readonly resource: string; readonly label: string }) {
  const { to, resource, label } = props;
  const right = useMay({ verb: "create", resource });
  if (!right.isAllowed) return null;
  return (
    <Link to={to} className="button primary">
      <Plus aria-hidden="true" />
      {label}
    </Link>
  );
}
