"""tmux: servers that are asked by its own program, panes, and how a pane's bytes reach us."""
