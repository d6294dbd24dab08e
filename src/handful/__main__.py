from handful.cli import main

if __name__ == "__main__":  # a process that bench starts imports this file, and is no command
    main()
