"""The parts of tools/gen_command_table.py."""
