# sector fields
r("line", "starts", FIELD, "str")
r("span", "bounds", [f for f in FIELD], "str")
r("seg", "segment", FIELD, "str")
r("event", "window_event", ["hpcchain/sector/*", "hpcchain/layout/*", "tests/parallel/leaks.py"], "str")
r("when", "event_time", FIELD, "str")
r(
    "what",
    "next_event",
    [
        "hpcchain/sector/*",
        "hpcchain/contact/*",
        "hpcchain/layout/arrays.py",
        "tests/unit/sector/*",
        "tests/support/kernel_tools.py",
        "tests/parallel/leaks.py",
        "tests/unit/propagators/*",
        "tests/unit/layout/*",
    ],
    "str",
)
r("tag", "molecule_event", FIELD, "str")
r("pace", "timing", FIELD, "str")
r("spare", "free_rows", ["hpcchain/sector/*", "hpcchain/layout/*", "tests/parallel/*", "tests/unit/sector/*"], "str")
r("beside", "near_owned", ["hpcchain/sector/*", "hpcchain/layout/*", "tests/unit/sector/*", "tests/support/*"], "str")
r("stale", "stale_cells", ["hpcchain/sector/*", "hpcchain/layout/*", "tests/unit/sector/*", "tests/support/*"], "str")
r(
    "ahead",
    "prefetch_state",
    ["hpcchain/sector/*", "hpcchain/layout/*", "tests/unit/sector/*", "tests/support/*"],
    "str",
)
r("kicks", "impulse_response", FIELD, "str")
r("touched", "rolled_back", FIELD, "str")
r("opened", "rolled_back_to", FIELD, "str")
r("script", "owner_history", ["hpcchain/sector/*", "hpcchain/layout/*", "tests/unit/sector/*"], "str")
r("script_at", "owner_history_at", FIELD, "str")
# jit
r("owning", "allocating")
r("handed", "kernel_struct")
# constants
r("MOL_GHOST", "MOL_OWNERSHIP")
r("MOL_SCRIPT", "MOL_HISTORY")
r("BY_SCRIPT", "BY_HISTORY")
r("STANDS", "LOG_STATUS")
r("ROOTLESS", "EXACT_FALLBACK", ["hpcchain/sector/*", "tests/*"])
r("TIE_TIME", "SIMULTANEOUS")
r("TIE_GAP", "SIMULTANEOUS_GAP")
# functions and classes
r("rehome", "refresh_skins")
r("rehomings", "skin_refreshes")
r("regroup", "rebuild_ghosts")
r("_regroup", "_rebuild_ghosts")
r("regroupings", "rebuilds")
r("Groups", "GhostManager")
r("Patch", "GhostedSector")
r("Held", "MoleculeSet")
r("Rooms", "Skins")
r("Blueprint", "MoleculeClasses")
r("Batch", "EventBudget")
r("spend", "run_timed")
r("remember", "save_segment")
r("_remember", "_save_segment")
r("withdraw", "roll_back")
r("aim_back", "request_rollback")
r("reopen", "restore_segment")
r("_undo", "_cancel_event")
r("forget", "discard_history", ["hpcchain/sector/*", "tests/*"])
r("finish_window", "commit_window")
r("undo_window", "abort_window")
r("follow_script", "replay")
r("longest_script", "longest_history")
r("unlike", "count_mismatched")
r("compare", "match_with_owner", ["hpcchain/sector/*", "tests/parallel/leaks.py"])
r("take", "receive", ["hpcchain/sector/*", "hpcchain/parallel/*"])
r("stands", "is_current", ["hpcchain/sector/*"])
r("passed", "is_straggler", ["hpcchain/sector/*"])
r("on_course", "candidates_straight")
r("take_course", "store_path")
r("met_rows", "broad_phase_rows")
r("_meeting", "contact_time", ["hpcchain/sector/*"])
r("_dip", "_minimum_gap", ["hpcchain/sector/*"])
r("_turn", "_end_of_approach", ["hpcchain/sector/*"])
r("_seen", "_polynomial_contact", ["hpcchain/sector/*"])
r("relist", "rebuild_list", ["hpcchain/sector/*", "tests/*"])
r("collide", "contact_event", ["hpcchain/sector/*", "tests/parallel/leaks.py"])
r("_book", "_log_contact", ["hpcchain/sector/*"])
r("_leave", "_mark_graze", ["hpcchain/sector/*"])
r("settle", "schedule_molecule", ["hpcchain/sector/*"])
r("complete", "make_series", ["hpcchain/sector/*"])
r("complete_one", "make_own_series", ["hpcchain/sector/*"])
r("fly", "move_straight", ["hpcchain/sector/*"])
r("aim", "set_bounds", ["hpcchain/sector/*"])
r("lay", "deactivate", ["hpcchain/sector/*"])
r("wake", "activate", ["hpcchain/sector/*", "hpcchain/parallel/*"])
r("_wake", "_activate", ["hpcchain/sector/*", "hpcchain/parallel/*"])
r("settle_down", "deactivate_again", ["hpcchain/sector/*", "hpcchain/parallel/*", "tests/*"])
r("name_table", "id_table")
r("enter", "insert", ["hpcchain/sector/*", "hpcchain/layout/*", "tests/unit/layout/*"])
r("row_in", "lookup")
r("rows_in", "lookup_all")
r("mark", "mark_cells", ["hpcchain/parallel/ghosts/*"])
r("put", "set_cells", ["hpcchain/parallel/ghosts/*"])
r("strayed", "skin_violation", ["hpcchain/sector/*", "hpcchain/parallel/*"])
r("move_home", "move_reference", ["hpcchain/sector/*"])
r(
    "home",
    "reference_position",
    [
        "hpcchain/sector/speculation/*",
        "hpcchain/sector/ghosted.py",
        "hpcchain/sector/sampling.py",
        "hpcchain/parallel/*",
        "tests/unit/sector/*",
        "tests/unit/parallel/*",
    ],
)
r(
    "excess",
    "violation",
    ["hpcchain/sector/speculation/*", "hpcchain/sector/ghosted.py", "hpcchain/parallel/*", "tests/unit/parallel/*"],
)
r("trade", "exchange_known")
r("deliver", "exchange_unknown")
r("_told", "_cells_message")
r("_lend", "_send_ghosts")
r("crowding", "cell_capacity_factor")
r("sorts", "ownership")
r("names", "molecule_ids", ["hpcchain/parallel/ghosts/*", "hpcchain/sector/ghosted.py", "hpcchain/layout/id_table.py"])
r("here", "position_now", ["hpcchain/parallel/ghosts/molecules.py", "hpcchain/parallel/ghosts/manager.py"], "any")
r("at_rest_clock", "at_time_zero")
r("survey", "inventory", ["hpcchain/*", "tests/*"])
r(
    "lost",
    "projection_loss",
    ["hpcchain/contact/*", "hpcchain/sector/*", "tests/unit/contact/*", "tests/support/kernel_tools.py"],
)
r("wrong", "series_error", ["hpcchain/sector/search/*"])
r("starts", "list_first", ["hpcchain/sector/setup/allocate.py"])
