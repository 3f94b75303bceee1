// Users and teams in memory.

import type { Foundation } from "../../foundation/foundation.ts";
import { createDirectory } from "./create-directory.ts";
import type { Directory } from "./directory.ts";

export const openDirectory = ({ objects, runtime }: Foundation): Directory & Disposable =>
  createDirectory({ users: objects("users"), teams: objects("teams"), scheduler: runtime.scheduler });
